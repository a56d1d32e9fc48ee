import pytest
from authors import recorded

from luke_jax.text import load_tokenizer


@pytest.fixture(scope="session")
def cases(real_data):
  """The header and the cases of a file, by its name."""

  def read(name):
    (file,) = (real_data / "authors").glob(f"{name}.jsonl*")
    return recorded.read(file)

  return read


@pytest.fixture(scope="session")
def tokenizer(real_data):
  return load_tokenizer(real_data / "tokenizers" / "roberta", markers=False)
