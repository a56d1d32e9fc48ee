import json
import shutil
from pathlib import Path

import pytest

from luke_jax.text import EntityVocab, Processor, load_tokenizer, save_tokenizer
from luke_jax.text.tokenizer import MARKERS

GOLDENS = Path(__file__).resolve().parents[1] / "goldens"
KINDS = ("byte_level", "sentence_piece", "word_piece")


@pytest.fixture(scope="session")
def tiny_directories():
  return {kind: GOLDENS / "text" / kind for kind in KINDS}


@pytest.fixture(scope="session")
def byte_level(tiny_directories):
  return load_tokenizer(tiny_directories["byte_level"])


@pytest.fixture(scope="session")
def sentence_piece(tiny_directories):
  return load_tokenizer(tiny_directories["sentence_piece"])


@pytest.fixture(scope="session")
def word_piece(tiny_directories):
  return load_tokenizer(tiny_directories["word_piece"])


@pytest.fixture(scope="session")
def marked_word_piece(word_piece):
  """The tokenizer of a LUKE that has BERT's vocabulary."""
  return word_piece.with_words(MARKERS)


@pytest.fixture(scope="session", params=["byte_level", "sentence_piece", "marked_word_piece"])
def tokenizer(request):
  return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def goldens():
  return json.loads((GOLDENS / "text.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def vocab():
  return EntityVocab(
    {"[PAD]": 0, "[UNK]": 1, "[MASK]": 2, "[MASK2]": 3, "Los Angeles": 4, "Tokyo": 5}
  )


@pytest.fixture(scope="session")
def multilingual_vocab():
  special = {"[MASK]": 0, "[UNK]": 1, "[PAD]": 2, "[MASK2]": 3}
  titles = {"en:Los Angeles": 4, "en:Tokyo": 5, "ja:東京": 5, "en:Star Trek: Picard": 6}
  return EntityVocab(special | titles, multilingual=True)


@pytest.fixture(scope="session")
def processor(byte_level, vocab):
  return Processor(byte_level, vocab)


@pytest.fixture(scope="session")
def roberta(real_data):
  return load_tokenizer(real_data / "tokenizers/roberta")


@pytest.fixture(scope="session")
def real_sentence_pieces(real_data, tmp_path_factory):
  """Directories with the real SentencePiece models under the name a model's directory has."""
  directories = []
  for model in sorted((real_data / "tokenizers/sentencepiece").glob("*.model")):
    directory = tmp_path_factory.mktemp(model.stem)
    shutil.copyfile(model, directory / "sentencepiece.bpe.model")
    save_tokenizer(load_tokenizer(directory), directory)
    directories.append(directory)
  return directories


@pytest.fixture(scope="session")
def real_word_pieces(real_data, tmp_path_factory):
  """Directories with the real vocabularies under the name a model's directory has, by model."""
  directories = {}
  for name in ("bert-base-uncased", "bert-base-chinese", "ernie-1.0"):
    directories[name] = tmp_path_factory.mktemp(name)
    vocab = real_data / f"siblings/vocab/{name}.vocab.txt"
    shutil.copyfile(vocab, directories[name] / "vocab.txt")
  return directories


@pytest.fixture(scope="session")
def squad_paragraphs(real_data):
  squad = json.loads((real_data / "squad/dev-v1.1.json").read_text(encoding="utf-8"))
  return [paragraph["context"] for article in squad["data"] for paragraph in article["paragraphs"]]
