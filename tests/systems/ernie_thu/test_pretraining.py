"""Pretraining of an ERNIE of Tsinghua: rows, losses, and entities that are learned."""

import dataclasses

import jax
import numpy as np
import pytest
from networks import backbone
from small_systems import small
from tiny_runs import trained

from data.ernie_thu.pairs import write_instances
from luke_jax.errors import InputError
from luke_jax.nn.losses import IGNORED
from luke_jax.pipeline.batches import Data
from luke_jax.pipeline.stored import Instance
from luke_jax.systems.bert import BertConfig
from luke_jax.systems.ernie_thu import ErnieThuConfig
from luke_jax.systems.ernie_thu.pretraining import AlignedPretraining
from luke_jax.training.experiment import Experiment
from luke_jax.training.mesh import make_mesh
from luke_jax.training.optimizer import Length, Optimizer, Schedule, learning_rate
from luke_jax.training.program import Program
from luke_jax.training.scoring import evaluate

WIDTH, ENTITIES, WORDS = 12, 8, 16
MASK = 4


def pair(rng):
  """Words of which some name entities, each by a word of its own; two of a sentence are masked."""
  ids = rng.integers(40, 60, WORDS - 2).astype(np.int32)
  entities = np.full(len(ids), -1, np.int32)
  places = rng.choice(np.arange(1, len(ids) - 1), 5, replace=False)
  entities[places] = rng.choice(ENTITIES, 5, replace=False)
  ids[places] = 10 + entities[places]
  labels = np.full(len(ids), -1, np.int32)
  masked = rng.choice(np.setdiff1d(np.arange(1, len(ids) - 1), places), 2, replace=False)
  labels[masked], ids[masked] = ids[masked], MASK
  types = (np.arange(len(ids)) > 7).astype(np.int32)
  return Instance(ids, types, labels, entities, bool(rng.integers(2)))


@pytest.fixture(scope="module")
def task(tmp_path_factory):
  """A task over 200 pairs, and vectors of which those of even numbers are alike."""
  place = tmp_path_factory.mktemp("pretraining")
  rng = np.random.default_rng(0)
  write_instances(place / "pairs.bin", (pair(rng) for _ in range(200)), WORDS)
  ids = "".join(f"Q{i}\t{i}\n" for i in range(ENTITIES))
  (place / "entity2id.txt").write_text(f"{ENTITIES}\n{ids}")
  vectors = rng.normal(size=(ENTITIES, WIDTH))
  np.savetxt(place / "entity2vec.vec", vectors, fmt="%.6f", delimiter="\t")
  files = {"pairs": str(place / "pairs.bin"), "vectors": str(place), "text": str(place)}
  return AlignedPretraining(**files, words=WORDS, masked=4, entities=6, held_out=0.1)


CHOSEN = backbone(small(ErnieThuConfig, pad_token_id=0))


def rows(task, count=40):
  records = task.records(CHOSEN, "train")
  rngs = [np.random.default_rng(i) for i in range(count)]
  return records, task.rows(CHOSEN, [records[i] for i in range(count)], rngs)


def test_rows_have_what_was_there_before_the_change_as_labels(task):
  records, arrays = rows(task)
  assert {name: (x.shape[1:], x.dtype) for name, x in arrays.items()} == {
    name: (x.shape, x.dtype) for name, x in task.row_shapes(CHOSEN).items()
  }
  changed = 0
  for i in range(40):
    record, slots = records[i], arrays["entity_labels"][i] != IGNORED
    places = arrays["aligned_positions"][i][slots]
    np.testing.assert_array_equal(places, np.flatnonzero(record.entities != -1))
    own = arrays["candidate_vectors"][i][arrays["entity_labels"][i][slots]]
    beside = arrays["entity_vectors"][i][places]
    changed += (beside != own).any(-1).sum()
    np.testing.assert_array_equal(arrays["entity_mask"][i][places], beside.any(-1))
    masked = arrays["labels"][i] != IGNORED
    positions = arrays["masked_positions"][i][masked]
    assert (arrays["input_ids"][i][positions] == MASK).all()
    assert arrays["next_sentence_labels"][i] == record.random_next
  assert 20 < changed < 60  # a fifth of 200


def test_a_row_is_the_same_in_any_batch_but_for_other_entities(task):
  task = dataclasses.replace(task, other_entities=0.0)
  _, arrays = rows(task)
  _, fewer = rows(task, 10)
  for name, x in fewer.items():
    np.testing.assert_array_equal(arrays[name][:10], x)


def test_ablations(task):
  without = dataclasses.replace(task, read_entities=False)
  assert "entity_vectors" not in rows(without, 2)[1]
  batch = rows(task, 4)[1]
  assert set(task.weights(batch)) == {"word", "next", "entity"}
  assert set(dataclasses.replace(task, predict_entities=False).weights(batch)) == {"word", "next"}


def experiment(task, **fields):
  still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
  return Experiment(
    model=small(ErnieThuConfig, pad_token_id=0, initializer_range=0.1, **still),
    task=dataclasses.replace(task, **fields),
    data=Data(batch_size=16, evaluation_batch_size=20),
    optimizer=Optimizer(learning_rate=3e-3, frozen=CHOSEN.config.unread),
  )


@pytest.mark.slow
@pytest.mark.parametrize("whole_batch", [False, True])
def test_entities_are_learned_and_those_without_an_input_too(task, whole_batch):
  steps = 60
  chosen = experiment(task, whole_batch=whole_batch)
  program = Program(chosen, make_mesh(chosen.mesh, jax.devices()[:1]), steps)
  state, losses = trained(program, program.fresh_state(), steps)
  scores = evaluate(program, state, "dev")
  assert losses[-1] < losses[0] - 1
  assert scores["entity_accuracy"] > 0.9
  assert scores["hidden_chance"] == pytest.approx(0.2)
  assert scores["hidden_accuracy"] > 0.6
  assert 0 <= scores["word_accuracy"] <= 1
  last = state["trained"]["ernie_thu"]["encoder"]["from_1"]["layers"]["mlp"]["entity_down"]
  first = program.fresh_state()["trained"]["ernie_thu"]["encoder"]["from_1"]["layers"]["mlp"]
  np.testing.assert_array_equal(last["kernel"], first["entity_down"]["kernel"])


def test_the_rate_of_the_authors_stays_after_its_warm_up():
  recipe = ErnieThuConfig.recipes["relations"]
  schedule = Schedule(warmup_ratio=recipe.warmup_ratio, decay=recipe.decay)
  optimizer, length = Optimizer(learning_rate=2.0), Length.of(schedule, 1000)
  rates = [learning_rate(optimizer, schedule, step, length) for step in (50, 100, 900)]
  assert rates == [1, 2, 2]


@pytest.mark.parametrize(
  ("fields", "message"),
  [
    ({"pairs": ""}, "task.pairs: empty; expected a file of pairs"),
    ({"words": 12}, r"task.words: 12; expected 16, as .*pairs.bin has them"),
    ({"held_out": 0.999}, "pairs; expected some to train on and some not"),
  ],
)
def test_faults(task, fields, message):
  with pytest.raises(InputError, match=message):
    dataclasses.replace(task, **fields).records(CHOSEN, "train")


def test_a_system_without_vectors_is_refused(task):
  with pytest.raises(InputError, match="model: a BERT; expected one that reads vectors"):
    task.records(backbone(small(BertConfig)), "train")


def test_shares_that_are_too_large_are_refused(task):
  with pytest.raises(InputError, match="expected shares, at most 1 together"):
    dataclasses.replace(task, other_entities=0.6, no_entities=0.6)
