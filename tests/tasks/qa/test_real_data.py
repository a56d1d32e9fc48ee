"""SQuAD's development set: every answer is where it should be, and something can be learned."""

import itertools
import json

import numpy as np
import pytest
from networks import tiny
from tiny_runs import program, trained

from luke_jax.formats.files import Faults
from luke_jax.pipeline.batches import Data
from luke_jax.systems.luke import LukeConfig
from luke_jax.tasks.answers import normalized
from luke_jax.tasks.qa.features import PassageLimits, features
from luke_jax.tasks.qa.files import read
from luke_jax.tasks.qa.score import score, score_file
from luke_jax.tasks.qa.task import QuestionAnswering
from luke_jax.text import Processor, load_tokenizer, save_processor
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule
from luke_jax.training.scoring import evaluate

STEPS = 400

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def squad(real_data):
  return real_data / "squad/dev-v1.1.json"


@pytest.fixture(scope="module")
def roberta(real_data):
  tokenizer = load_tokenizer(real_data / "tokenizers/roberta")
  return Processor(tokenizer, SPECIAL_ENTITIES, max_entity_length=128)


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
  examples, limits = read(squad, Faults()), PassageLimits(64, 128, 30)
  with pytest.warns(UserWarning, match="10 answers cannot be found: longer than task.answer_words"):
    rows = features(roberta, examples, limits, Faults())
  assert {row.example for row in rows if row.labels[0]} == set(range(len(examples)))
  outputs = {"start_logits": [], "end_logits": []}
  for row in rows:
    for place, name in zip(row.labels, outputs, strict=True):
      outputs[name].append(np.zeros(len(row.input_ids), np.float32))
      outputs[name][-1][place] = 9
  found = QuestionAnswering(n_best=3).decode(examples, rows, outputs)
  for example, answers in zip(examples, found, strict=True):
    for answer in answers:
      assert example.text[answer.start : answer.end] == answer.text
  scores = score(golds(examples), [answers[0].text for answers in found])
  print(scores)
  assert scores["exact_match"] > 0.996


def always_there(train, dev):
  """The score of answering with the same words of every text: those that do best in training.

  They are three at most, as answers mostly have; more of them would give more F1, and never be
  right.
  """

  def answers(examples, first, count):
    return {x.id: " ".join(x.text.split()[first : first + count]) for x in examples}

  places = itertools.product(range(0, 60, 2), (1, 2, 3))
  best = max(places, key=lambda place: score_file(train, answers(train, *place))["f1"])
  return score_file(dev, answers(dev, *best))


@pytest.mark.slow
def test_two_hundred_paragraphs(squad, roberta, tmp_path):
  """From random initialisation, the answers of paragraphs that it trains on.

  Other articles would need a larger model: of theirs it gets two or three of 300 right.
  """
  articles = json.loads(squad.read_text(encoding="utf-8"))["data"]
  for name, share in (("train", 5), ("dev", 2)):
    part = [{**article, "paragraphs": article["paragraphs"][:share]} for article in articles[:40]]
    (tmp_path / f"{name}.json").write_text(json.dumps({"data": part}))
  save_processor(roberta, tmp_path / "text")
  files = {name: str(tmp_path / f"{name}.json") for name in ("train", "dev")}
  sizes = {"words": 256, "entities": 1, "mention": 1, "question_words": 40, "answer_words": 12}
  task = QuestionAnswering(**files, text=str(tmp_path / "text"), **sizes)
  model = tiny(
    vocab_size=roberta.tokenizer.vocab_size,
    entity_vocab_size=len(SPECIAL_ENTITIES),
    intermediate_size=256,
    initializer_range=0.1,  # so small a model begins to learn much sooner
  )
  made = program(
    Experiment(
      model=model,
      task=task,
      data=Data(batch_size=16, evaluation_batch_size=32),
      optimizer=Optimizer(learning_rate=1e-3, frozen=LukeConfig.recipes["qa"].frozen),
      schedule=Schedule(decay="constant"),
      run=Run(steps=STEPS),
    )
  )
  with pytest.warns(UserWarning, match="answers cannot be found"):
    state, losses = trained(made, made.fresh_state(), STEPS)
    found = evaluate(made, state, "dev")
  first, last = np.mean(losses[:50]), np.mean(losses[-50:])
  baseline = always_there(*(read(tmp_path / f"{name}.json", Faults()) for name in ("train", "dev")))
  print(f"loss {first:.2f} -> {last:.2f}; {found}; the same words of every text: {baseline}")
  assert last < 0.6 * first
  assert found["f1"] > 3 * baseline["f1"]
  assert found["exact_match"] > 3 * baseline["exact_match"]
