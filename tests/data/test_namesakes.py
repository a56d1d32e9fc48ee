"""The namesakes: nothing but the linked entities can answer their questions."""

import random
from collections import Counter
from pathlib import Path

import pytest

from data.namesakes.generate import CHOICES, QUESTIONS, main, pages
from data.namesakes.world import COUNTRIES, NAMES, SHARED, things
from luke_jax.formats.files import Faults
from luke_jax.tasks.known import task_class
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES
from luke_jax.training.experiment_files import load_experiment

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
THINGS = {thing.title: thing for thing in things()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("namesakes")
  main(folder)
  return folder


def examples(folder, split):
  return task_class("qa")().read(folder / f"{split}.jsonl", Faults())


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
  paths = (EXPERIMENTS / f"namesakes.py:{row}" for row in ("pretraining", "questions"))
  pretraining, asked = map(load_experiment, paths)
  special = len(SPECIAL_ENTITIES) - 1  # [MASK2] is added to the model that pretraining makes
  entities = len(things()) + len(COUNTRIES)
  assert pretraining.model.entity_vocab_size == special + entities
  assert asked.model.entity_vocab_size == special + entities + 1
