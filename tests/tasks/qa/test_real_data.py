"""SQuAD's development set: every answer is where it should be."""

import os
from pathlib import Path

import numpy as np
import pytest

from luke_jax.tasks.answers import normalized
from luke_jax.tasks.files import Faults
from luke_jax.tasks.fine_tuning import SPECIAL_ENTITIES
from luke_jax.tasks.qa.decoding import Choice, decode
from luke_jax.tasks.qa.features import Limits, features
from luke_jax.tasks.qa.files import read
from luke_jax.tasks.qa.score import score
from luke_jax.text import LukeProcessor, load_tokenizer

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def real_data():
  folder = Path(os.environ.get("LUKE_JAX_REAL_DATA", Path(__file__).parents[4] / "shared/data"))
  if not folder.is_dir():
    pytest.skip(f"no real data at {folder}")
  return folder


@pytest.fixture(scope="module")
def squad(real_data):
  return real_data / "squad/dev-v1.1.json"


@pytest.fixture(scope="module")
def roberta(real_data):
  tokenizer = load_tokenizer(real_data / "tokenizers/roberta")
  return LukeProcessor(tokenizer, SPECIAL_ENTITIES, max_entity_length=128)


def golds(examples):
  return [[x.text[start:end] for start, end in x.answers] for x in examples]


def test_gold_against_gold(squad):
  gold = golds(read(squad, Faults()))
  assert len(gold) == 10570
  assert score(gold, [answers[0] for answers in gold]) == {"exact_match": 1, "f1": 1}
  some = [answers for answers in gold if all(map(normalized, answers))]
  assert len(gold) - len(some) == 3  # to them somebody's answer is a full stop, which has no F1
  last = [answers[-1] for answers in some]
  assert score(some, last) == {"exact_match": 1, "f1": 1}


def test_windows_hold_every_answer(squad, roberta):
  """And a model that knew the first ones would be right wherever tokens end with the answer."""
  examples, limits = read(squad, Faults()), Limits(64, 128, 30)
  with pytest.warns(UserWarning, match="10 answers cannot be found: longer than task.answer_words"):
    rows = features(roberta, examples, limits, Faults())
  assert {row.example for row in rows if row.labels[0]} == set(range(len(examples)))
  outputs = {"start_logits": [], "end_logits": []}
  for row in rows:
    for place, name in zip(row.labels, outputs, strict=True):
      outputs[name].append(np.zeros(len(row.input_ids), np.float32))
      outputs[name][-1][place] = 9
  found = decode(examples, rows, outputs, Choice(3, 30, False, 0.0))
  for example, answers in zip(examples, found, strict=True):
    for answer in answers:
      assert example.text[answer.start : answer.end] == answer.text
  scores = score(golds(examples), [answers[0].text for answers in found])
  print(scores)
  assert scores["exact_match"] > 0.996
