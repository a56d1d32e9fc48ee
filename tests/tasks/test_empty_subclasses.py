"""An empty subclass of a task trains, is fitted, shown and scored to the bit as the task."""

import dataclasses
import json
from pathlib import Path

import jax
import numpy as np
import pytest
from sample_models import sample_file, save_roberta, save_start

import luke_jax
from luke_jax.inference.settings import KEY
from luke_jax.runs.outline import outline
from luke_jax.tasks.contract import SENTENCE
from luke_jax.tasks.known import CLASSES, task_class
from luke_jax.tasks.linking.knowledge import About, Meanings, lines_of, write_knowledge
from luke_jax.training.experiment import to_dict
from luke_jax.training.export import read_experiment

pytestmark = pytest.mark.usefixtures("one_device")

LINKED = [
  {"text": "Ana met Bo.", "mentions": [[0, 3, "Ana"], [8, 10, "Bo"]]},
  {"text": "Bo left.", "mentions": [[0, 2, "Bo"]]},
]
QUICK = ("ner",)  # the rest are slow, as each compiles its own
TRAIN, DEV = 24, 8  # examples
CALIBRATED = "ner"  # whose answers to dev are many enough to say what scores mean


def slow(name):
  return pytest.param(name, marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def starts(tmp_path_factory):
  folder = tmp_path_factory.mktemp("starts")
  known = folder / "known"
  names = Meanings.of({"Ana": {0: 2.0, 1: 1.0}, "Bo": {1: 3.0, 0: 1.0}})
  about = lines_of([About("Ana", "a painter", "Q1"), About("Bo", "a sailor", "Q2")])
  vectors = np.random.default_rng(0).normal(size=(2, 8))
  write_knowledge(known, about, (vectors,), names, {"tables": "a"})
  return save_start(folder / "luke"), save_roberta(folder / "roberta"), known


def files(name, folder):
  """Files of a few examples to train on and of dev."""
  for split, most in (("train", TRAIN), ("dev", DEV)):
    if name == "linking":
      lines = [json.dumps({"id": str(i), **LINKED[i % 2]}) + "\n" for i in range(most)]
    else:
      source = sample_file("ner" if name == "labels" else name, split)
      lines = Path(source).read_text().splitlines(keepends=True)[:most]
    (folder / f"{split}.jsonl").write_text("".join(lines))
  return folder / "train.jsonl", folder / "dev.jsonl"


@pytest.mark.parametrize("name", [x if x in QUICK else slow(x) for x in CLASSES])
def test_it_is_as_the_task_itself(name, starts, tmp_path):
  luke, roberta, known = starts
  own = dataclasses.dataclass(frozen=True)(type("Own", (task_class(name),), {}))
  settings = {"labels": {"adapter": 2}, "linking": {"knowledge": str(known)}}.get(name, {})
  train, dev = files(name, tmp_path)
  made = [
    luke_jax.fine_tune(
      kind,
      roberta if name == "labels" else luke,
      train=train,
      dev=dev,
      folder=tmp_path / str(number),
      **{"run.steps": 2, **settings},
    )
    for number, kind in enumerate((name, own))
  ]
  ours, theirs = (x.model for x in made)
  assert made[0].scores == made[1].scores and made[0].scores
  assert jax.tree.all(jax.tree.map(np.array_equal, ours.params, theirs.params))
  assert _answers(ours, own) == _answers(theirs, own)
  saved, of_own = (dict(x.rest[KEY]) for x in (ours, theirs))
  assert of_own.pop("class").endswith("Own")
  assert _apart(saved, tmp_path / "0") == _apart(of_own, tmp_path / "1")
  assert ("calibration" in saved) == (name == CALIBRATED)
  first = read_experiment(tmp_path / "0/run")
  second = dataclasses.replace(first, task=_as(own, first.task))
  assert to_dict(read_experiment(tmp_path / "1/run", second))["model"] == to_dict(first)["model"]
  assert outline(first) == outline(second)


def _answers(model, kind):
  """What a model says of a sentence, as lines of a file of predictions have it."""
  asked = {"labels": ["PER", "LOC"], "threshold": 0.0} if kind.reads_labels else {}
  found = model.predict([f"{SENTENCE}."], **{k: [x] for k, x in kind.fields.items()}, **asked)
  assert len(found) == 1
  return repr(found)


def _as(kind, task):
  return kind(**{x.name: getattr(task, x.name) for x in dataclasses.fields(task)})


def _apart(value, folder):
  """The JSON of a value without the name of its folder."""
  return json.dumps(value, sort_keys=True, default=str).replace(str(folder), "")
