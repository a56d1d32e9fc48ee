"""What a run reads has fingerprints, which change with it and with nothing else."""

from types import SimpleNamespace

import pytest
from toy_corpus import toy_records, write_corpus

from luke_jax.errors import InputError
from luke_jax.runs.fingerprints import fingerprints


def of(**fields):
  return fingerprints(SimpleNamespace(task=SimpleNamespace(**{"text_directory": None} | fields)))


def test_of_examples_and_of_the_text_side(tmp_path):
  train, text = tmp_path / "train.jsonl", tmp_path / "model"
  text.mkdir()
  for path in (train, text / "vocab.json", text / "model.safetensors"):
    path.write_text("{}")
  before = of(train=str(train), text_directory=str(text))
  assert sorted(before) == [str(text / "vocab.json"), str(train)]
  (text / "model.safetensors").write_text("other weights")
  assert of(train=str(train), text_directory=str(text)) == before
  (text / "vocab.json").write_text("{ }")
  after = of(train=str(train), text_directory=str(text))
  assert [name for name in before if before[name] != after[name]] == [str(text / "vocab.json")]
  with pytest.raises(InputError, match=r"gone.jsonl: no such file; expected"):
    of(train=str(tmp_path / "gone.jsonl"))


def test_of_a_corpus(tmp_path):
  folder = write_corpus(tmp_path / "corpus", toy_records(40), files=2)
  before = of(corpora=(folder,), text_directory=folder)
  assert any(name.endswith("entity_vocab.json") for name in before)
  again = write_corpus(tmp_path / "copy" / "corpus", toy_records(40), files=2)
  copied = of(corpora=(again,), text_directory=again)
  assert sorted(copied.values()) == sorted(before.values())
  file = sorted((tmp_path / "corpus").glob("*.array_record"))[1]
  data = bytearray(file.read_bytes())
  data[len(data) // 2] ^= 1
  file.write_bytes(data)
  after = of(corpora=(folder,), text_directory=folder)
  changed = [name for name in before if before[name] != after[name]]
  assert changed == [f"{folder}: 2 files of records"]
