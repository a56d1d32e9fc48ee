"""What a run reads has fingerprints, which change with it and with nothing else."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from toy_corpus import toy_records, write_corpus

from luke_jax.errors import InputError
from luke_jax.graph.vectors import open_vectors
from luke_jax.runs.notes import fingerprints
from luke_jax.systems.ernie_baidu.pretraining import UnitPretraining
from luke_jax.systems.ernie_thu.pretraining import AlignedPretraining
from luke_jax.systems.transe.task import LinkPrediction
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.tasks.known import CLASSES, task_class
from luke_jax.tasks.pretraining import Pretraining
from luke_jax.tasks.synthetic import SyntheticPretraining

OTHERS = (AlignedPretraining, LinkPrediction, Pretraining, SyntheticPretraining, UnitPretraining)
# Of the fields that are texts, those that name no file that a run reads.
NO_FILES = {"test", "positive", "negative", "language"}


def of(task):
  return fingerprints(SimpleNamespace(engine=task.engine()))


def changed(before, after):
  assert before.keys() == after.keys()
  return [name for name in before if before[name] != after[name]]


def flip(path):
  data = bytearray(path.read_bytes())
  data[len(data) // 2] ^= 1
  path.write_bytes(data)


@pytest.fixture
def places(tmp_path):
  """For each field that names files, its value, and the files of which a change counts."""
  for name in ("train.jsonl", "dev.jsonl", "about.json", "pairs.bin", "pairs.idx"):
    (tmp_path / name).write_text(f"content of {name}")
  stages = [f"wiki/{stage}/manifest.json" for stage in ("titles", "pages", "mentions")]
  words = ["words/sentences.txt", "words/vectors.npy"]
  graph = ["graph/train.txt", "graph/valid.txt"]
  known = ["known/knowledge.json", "known/vectors.npy"]
  table = ["table/labels.json", "table/vectors.npy"]
  for name in ("text/vocab.txt", "text/model.safetensors", *stages, *graph, *words, *known, *table):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(name)
  (tmp_path / "kg").mkdir()
  (tmp_path / "kg" / "entity2id.txt").write_text("2\nQ1\t0\nQ2\t1\n")
  (tmp_path / "kg" / "entity2vec.vec").write_text("1.5\t2\n3\t4\n")
  files = {
    "train": ("train.jsonl", ["train.jsonl"]),
    "dev": ("dev.jsonl", ["dev.jsonl"]),
    "text": ("text", ["text/vocab.txt"]),
    "vectors": ("kg", ["kg/entity2id.txt", "kg/entity2vec.vec"]),
    "mentions": ("wiki", stages),
    "graph": ("graph", graph),
    "word_vectors": ("words", words),
    "knowledge": ("known", known),
    "table": ("table", table),
    "descriptions": ("about.json", ["about.json"]),
    "pairs": ("pairs.bin", ["pairs.bin", "pairs.idx"]),
  }
  return {x: (str(tmp_path / value), names) for x, (value, names) in files.items()}


@pytest.mark.parametrize("kind", [*map(task_class, CLASSES), *OTHERS], ids=lambda x: x.__name__)
def test_every_file_that_a_task_names_counts(kind, places, tmp_path):
  texts = {x.name for x in dataclasses.fields(kind) if x.default == ""} - NO_FILES
  fields = {name: places[name][0] for name in texts}
  if kind is Pretraining:
    fields["corpora"] = (write_corpus(tmp_path / "corpus", toy_records(12), files=2),)
  if kind is UnitPretraining:
    fields["files"] = (places["train"][0], places["dev"][0])
  task = kind(**fields)
  before = of(task)
  assert of(task) == before
  if kind is UnitPretraining:
    texts |= {"train", "dev"}
  for name in texts:
    for file in places[name][1]:
      flip(tmp_path / file)
      assert changed(before, of(task)) == [str(tmp_path / file)]
      flip(tmp_path / file)


def test_weights_do_not_count_and_a_missing_file_is_named(places, tmp_path):
  task = TextClassification(train=places["train"][0], text=places["text"][0])
  before = of(task)
  assert sorted(before) == [str(tmp_path / x) for x in ("text/vocab.txt", "train.jsonl")]
  (tmp_path / "text" / "model.safetensors").write_text("other weights")
  assert of(task) == before
  with pytest.raises(InputError, match=r"gone.jsonl: no such file; expected"):
    of(TextClassification(train=str(tmp_path / "gone.jsonl")))
  with pytest.raises(InputError, match=r"gone.bin: no such file; expected"):
    (tmp_path / "gone.idx").write_text("")
    files = {name: places[name][0] for name in ("vectors", "text")}
    of(AlignedPretraining(pairs=str(tmp_path / "gone.bin"), **files))


def test_an_array_of_vectors_goes_before_their_text(places, tmp_path):
  task = task_class("typing")(vectors=places["vectors"][0])
  before = of(task)
  open_vectors(places["vectors"][0])  # has an array of its own beside the text
  assert of(task) == before
  np.save(tmp_path / "kg" / "entity2vec.npy", np.zeros((2, 2), np.float32))
  names = {name.rpartition("/")[2] for name in before.keys() ^ of(task).keys()}
  assert names == {"entity2vec.npy", "entity2vec.vec"}


def test_of_a_corpus(tmp_path):
  folder = write_corpus(tmp_path / "corpus", toy_records(40), files=2)
  before = of(Pretraining((folder,)))
  assert any(name.endswith("entity_vocab.json") for name in before)
  again = write_corpus(tmp_path / "copy" / "corpus", toy_records(40), files=2)
  copied = of(Pretraining((again,)))
  assert sorted(copied.values()) == sorted(before.values())
  file = sorted((tmp_path / "corpus").glob("*.array_record"))[1]
  flip(file)
  assert changed(before, of(Pretraining((folder,)))) == [str(file)]
