"""Losses of a step with the authors' micro-batches are theirs, and so are their gradients."""

import collections
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from authors.recorded import read

from luke_jax.heads.labels import AnswerHead, ClozeHead, EntityHead, PairHead, SpanHead
from luke_jax.nn import losses
from luke_jax.nn.layers import Numerics
from luke_jax.nn.losses import IGNORED
from luke_jax.tasks.cloze.task import ClozeAnswering
from luke_jax.tasks.ner.task import NamedEntities
from luke_jax.tasks.pretraining import Pretraining, weighted
from luke_jax.tasks.qa.task import QuestionAnswering
from luke_jax.tasks.relations.task import RelationClassification
from luke_jax.tasks.typing.task import EntityTyping

_, CASES = read(Path(__file__).parents[1] / "goldens" / "authors" / "losses.jsonl.gz")
N = Numerics()
TASKS = {
  "ner": (NamedEntities, SpanHead(N, 5)),
  "cloze": (ClozeAnswering, ClozeHead(N)),
  "typing": (EntityTyping, EntityHead(N, 6)),
  "relations": (RelationClassification, PairHead(N, 5)),
  "qa": (QuestionAnswering, AnswerHead(N)),
}


def joined(arrays, fill):
  """Arrays of micro-batches as one of the whole batch, padded to the widest."""
  arrays = [np.asarray(array) for array in arrays]
  shape = np.max([array.shape[1:] for array in arrays], axis=0, initial=0)
  wide = [
    np.pad(
      x,
      [(0, 0), *((0, n - m) for n, m in zip(shape, x.shape[1:], strict=True))],
      constant_values=fill,
    )
    for x in arrays
  ]
  return np.concatenate(wide)


def of(case, name, fill=0, part=None):
  values = [x[name] if part is None else x[name][part] for x in case["micro_batches"]]
  return joined(values, fill)


def step_loss(case):
  """The logits of a case's micro-batches, and the loss of the step as a function of them."""
  if case["task"] == "pretraining":
    return pretraining_loss(case)
  kind, head = TASKS[case["task"]]
  task = kind(authors=True)
  if case["task"] == "qa":
    return answer_loss(case, task, head)
  labels = of(case, "labels", -1)
  if case["task"] == "cloze":
    labels = np.where(of(case, "kept") == 1, labels, -1)
  labels = np.where(labels < 0, IGNORED, labels)
  # Of a model with entity tokens.
  weights = task.weights({"labels": labels, "entity_ids": labels})
  return [of(case, "logits", part=0)], lambda x: head.loss({"logits": x}, labels, weights)


def answer_loss(case, task, head):
  logits = of(case, "logits", part=0)
  lengths = [len(row) for x in case["micro_batches"] for row in x["logits"][0]]
  positions = np.stack([of(case, f"{edge}_positions") for edge in ("start", "end")], axis=-1)
  labels = np.where(positions < np.array(lengths)[:, None], positions, IGNORED)
  weights, width = task.weights({"labels": labels}), logits.shape[1]
  places = np.where(labels == IGNORED, width, labels)
  # Pieces beyond a micro-batch's own width are none of its.
  inside = np.arange(width) < np.array(lengths)[:, None]

  def loss(x):
    x = jnp.where(inside[..., None], x, -1e30)
    outputs = {"start_logits": x[..., 0], "end_logits": x[..., 1]}
    return head.loss(outputs, places[:, 0], places[:, 1], weights)

  return [logits], loss


def pretraining_loss(case):
  batch = {name: of(case, name, -1) for name in ("labels", "entity_labels")}
  batch = {name: np.where(x < 0, IGNORED, x) for name, x in batch.items()}
  weights = Pretraining(("corpus",), authors=True).weights(batch)
  logits = [of(case, "logits", part=part) for part in range(2)]

  def loss(words, entities):
    scores = {
      f"{kind}_losses": each(x, batch[name])
      for kind, name, x in (("word", "labels", words), ("entity", "entity_labels", entities))
    }
    return weighted(scores, weights)[0]

  return logits, loss


def each(logits, labels):
  one = jax.vmap(jax.vmap(losses.cross_entropy))
  return one(logits[:, :, None], labels[:, :, None])


def some_at_once():
  """The cases, slow but for the first two of each task: every one has other shapes to compile."""
  seen = collections.Counter()
  for case in CASES:
    seen[case["task"]] += 1
    slow = seen[case["task"]] > 2
    yield pytest.param(case, id=case["id"], marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize("case", [*some_at_once()])
def test_a_step(case):
  logits, loss = step_loss(case)
  value, found = jax.jit(jax.value_and_grad(lambda xs: loss(*xs)))([jnp.float32(x) for x in logits])
  np.testing.assert_allclose(value, case["loss"], rtol=1e-5, atol=1e-6)
  for part, gradient in enumerate(found):
    expected = joined([micro[part] for micro in case["gradients"]], 0)
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-6)
