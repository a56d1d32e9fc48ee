"""Candidates that files give, and linkers that may not refuse."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from luke_jax.files import Path
from luke_jax.nn.losses import IGNORED
from luke_jax.tasks.linking.candidates import candidates_of
from luke_jax.tasks.linking.files import LinkedMention
from luke_jax.tasks.linking.knowledge import About, lines_of, open_knowledge
from luke_jax.tasks.linking.knowledge import write_knowledge as write
from luke_jax.tasks.linking.names import NONE, Meanings
from luke_jax.tasks.linking.task import EntityLinking


@pytest.fixture
def task(tmp_path):
  entities = [About(x) for x in ("Ana Ferrier", "Ferrier, Ohio", "Ohio")]
  meanings = Meanings.of({"Ferrier": {0: 1.0, 1: 1.0}, "Ohio": {2: 1.0}})
  write(Path(tmp_path / "known"), lines_of(entities), (np.eye(3),), meanings, {"tables": "a"})
  return EntityLinking(knowledge=str(tmp_path / "known"), candidates=4)


def test_given_candidates_stand_in_for_those_of_the_knowledge(task):
  known = open_knowledge(task.knowledge)
  given = LinkedMention(
    0, 7, "Ohio", None, False, (("Nobody", 0.5), ("Ohio", 0.1), ("Ana Ferrier", 0.0))
  )
  (likeliest,) = candidates_of("Ferrier", [given], known, 4)
  ids, priors = likeliest
  assert ids.tolist() == [2, 0] and priors.tolist() == pytest.approx([0.1, 1e-4])
  in_training = dataclasses.replace(task, fill=True)._candidates("Ferrier", given, likeliest, known)
  assert in_training[0].tolist() == [2, 0, NONE, NONE]  # no random ones beside them
  assert candidates_of("Ferrier", [LinkedMention(0, 7)], known, 4)[0].ids.tolist() == [0, 1]
  assert candidates_of("Ferrier", [given._replace(candidates=())], known, 4)[0].ids.tolist() == []


def test_a_linker_that_may_not_refuse_says_the_best_and_learns_from_no_refusal(task):
  known, ids = open_knowledge(task.knowledge), np.array([0, 1, -1, -1])
  logits = np.array([2.0, 1.0, -9.0, -9.0, 5.0])
  asked = "Ferrier", np.array([0, 7]), ids, logits, known
  always = dataclasses.replace(task, refuse=False)
  assert task._link(*asked).title is None and always._link(*asked).title == "Ana Ferrier"
  other = LinkedMention(0, 7, "Ohio")
  assert task._label(other, ids, known) == 4 and always._label(other, ids, known) == IGNORED


def test_padding_counts_in_the_mean_if_asked(task):
  labels = jnp.array([[1, 2, IGNORED], [0, IGNORED, IGNORED]])
  padded = dataclasses.replace(task, padded_mean=True)
  assert float(task.weights({"labels": labels}).sum()) == pytest.approx(1)
  np.testing.assert_allclose(padded.weights({"labels": labels})[labels != IGNORED], [0.25] * 3)
