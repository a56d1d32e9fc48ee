"""The namesakes: nothing but the linked entities can answer their questions."""

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from data.namesakes.generate import CHOICES, QUESTIONS, main, pages
from data.namesakes.world import COUNTRIES, NAMES, SHARED, things
from luke_jax.tasks.files import Faults
from luke_jax.tasks.fine_tuning import SPECIAL_ENTITIES
from luke_jax.tasks.known import task_files
from luke_jax.training.experiment_files import load_experiment

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
THINGS = {thing.title: thing for thing in things()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("namesakes")
  main(folder)
  return folder


def examples(folder, split):
  return task_files("qa").read(folder / f"{split}.jsonl", Faults())


def test_a_name_tells_nothing():
  by_name = {}
  for thing in things():
    by_name.setdefault(thing.name, []).append(thing)
  assert len(by_name) == NAMES
  for same in by_name.values():
    assert len({x.kind for x in same}) == len({x.country for x in same}) == len(same) == SHARED


def test_passages_offer_choices_and_tell_none(folder):
  for split, count in QUESTIONS.items():
    found = examples(folder, split)
    assert len(found) == count
    places = Counter()
    for example in found:
      ((start, end, title),) = example.entities
      offered = example.text.partition(": ")[2].strip(".").split(", ")
      (answer,) = (example.text[slice(*place)] for place in example.answers)
      thing = THINGS[title]
      assert answer in (thing.kind, thing.country) and thing.name == example.text[start:end]
      assert len(set(offered)) == CHOICES
      places[offered.index(answer)] += 1
    assert max(places.values()) < 0.4 * count  # as often in each place


def test_training_asks_about_other_things(folder):
  asked = {
    split: {entity[2] for example in examples(folder, split) for entity in example.entities}
    for split in QUESTIONS
  }
  assert not asked["train"] & (asked["dev"] | asked["test"])


def test_every_thing_is_linked_and_bytes_are_the_same(folder, tmp_path):
  text = " ".join(page.text for page in pages(things(), random.Random(1)))
  assert all(f"[[{thing.title}|{thing.name}]]" in text for thing in things())
  main(tmp_path)
  for path in folder.iterdir():
    assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_the_experiments_have_room_for_all_things():
  folder = EXPERIMENTS / "namesakes"
  pretraining, asked = (load_experiment(folder / f"{x}.py") for x in ("pretraining", "questions"))
  special = len(SPECIAL_ENTITIES) - 1  # [MASK2] is added to the model that pretraining makes
  entities = len(things()) + len(COUNTRIES)
  assert pretraining.model.entity_vocab_size == special + entities
  assert asked.model.entity_vocab_size == special + entities + 1


def test_forms_are_compared_in_pairs(tmp_path):
  """Of the seeds that all forms have; p is the share of signs with as large a difference."""
  exact = {"aware": (0.5, 0.6, 0.7, 0.9), "original": (0.4, 0.5, 0.6), "words": (0.1, 0.1, 0.1)}
  for form, values in (exact | {"fresh": (0.5, 0.7, 0.6)}).items():
    for seed, value in enumerate(values):
      path = tmp_path / form / f"seed-{seed}" / "result.json"
      path.parent.mkdir(parents=True)
      path.write_text(json.dumps({"scores": {"test": {"exact_match": value}}}))
  script = EXPERIMENTS / "namesakes/compare.py"
  done = subprocess.run(
    [sys.executable, script, tmp_path], capture_output=True, check=True, text=True
  )
  cells = [line.strip("|").split("|")[1:] for line in done.stdout.splitlines()[2:]]
  figures = [[cell.strip() for cell in row] for row in cells]
  assert figures[0][:2] == ["3", "60.0 ± 10.0"]
  assert figures[1][2:] == ["10.0", "0.250"]  # 2 of the 8 ways to choose signs
  assert figures[3][2:] == ["0.0", "1.000"]
