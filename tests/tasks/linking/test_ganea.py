"""Ganea and Hofmann's files: names with candidates, joined with their texts."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.nn.losses import IGNORED
from luke_jax.tasks.linking import benchmarks
from luke_jax.tasks.linking.candidates import candidates_of
from luke_jax.tasks.linking.files import LinkedMention, parse, read, to_json
from luke_jax.tasks.linking.knowledge import About, lines_of, open_knowledge
from luke_jax.tasks.linking.knowledge import write_knowledge as write
from luke_jax.tasks.linking.names import NONE, Meanings
from luke_jax.tasks.linking.task import EntityLinking

TABLE = (
  (
    "7 CUP",
    "ANA FERRIER",
    ["1,0.9,Ana Ferrier", "2,0.1,Ferrier, Ohio", "8,0.1,"],
    "0,1,0.9,Ana Ferrier",
  ),
  ("7 CUP", "Ferrier", ["2,0.3,Ferrier, Ohio", "3,0.7,Ferrier (ship)"], "-1,1,Ana Ferrier"),
  ("7 CUP", "nobody", ["2,0.3,Ferrier, Ohio"], "-1,-1,"),
  ("7 CUP", "R&amp;D", ["EMPTYCAND"], "-1,5,R&amp;D (band)"),
  ("A_(b)", "Ohio", ["4,1.0,Ohio"], "0,4,1.0,Ohio"),
  ("9", "Ohio", ["4,1.01,Ohio"], "0,4,1.0,Ohio"),
)
TEXT = """-DOCSTART- (7 CUP)
ANA\tB\tANA FERRIER\tx\tx\t1
FERRIER\tI\tANA FERRIER\tx\tx\t1
of

Ohio\tB\tOhio\tx\tx\t1
and
Ferrier\tB\tFerrier\tx\tx\t1
praised
nobody\tB\tnobody\t--NME--
R&amp;D\tB\tR&amp;D\tx\tx\t1

-DOCSTART- (8 OTHER)
Ohio\tB\tOhio\tx\tx\t1

-DOCSTART- (A_(b)
Ohio\tB\tOhio\tx\tx\t1

-DOCSTART- (9)
Ohio\tB\tOhio\tx\tx\t1
"""


@pytest.fixture
def folder(tmp_path):
  rows = ((id, id, name, "l", "r", "CANDIDATES", *x, "GT:", gold) for id, name, x, gold in TABLE)
  text = "".join("\t".join(row) + "\n" for row in rows)
  (tmp_path / "aida_testB.csv").write_text(text)
  (tmp_path / "testa_testb_aggregate_original").write_text(TEXT)
  return Path(tmp_path)


def test_names_have_their_candidates_and_their_place_in_the_text(folder):
  first, second, third = read(folder / "aida_testB.csv", Faults())
  assert (first.id, second.id, third.id, third.text) == ("7", "A_(b)", "9", "Ohio")
  assert third.mentions[0].candidates == (("Ohio", 1.0),)
  assert first.text == "ANA FERRIER of Ohio and Ferrier praised nobody R&amp;D"
  named = [(first.text[x.start : x.end], x.title) for x in first.mentions]
  assert named == [
    ("ANA FERRIER", "Ana Ferrier"),
    ("Ferrier", "Ana Ferrier"),
    ("R&amp;D", "R&D (band)"),
  ]
  assert first.mentions[1].candidates == (("Ferrier (ship)", 0.7), ("Ferrier, Ohio", 0.3))
  assert first.mentions[2].candidates == ()
  assert parse(to_json(first), "7", "a").mentions == first.mentions


def test_a_surname_has_the_candidates_of_full_names_of_persons(folder):
  (folder / "persons.txt").write_text("Ana Ferrier\n")
  first, *_ = read(folder / "aida_testB.csv", Faults())
  assert first.mentions[1].candidates == first.mentions[0].candidates
  assert first.mentions[0].candidates == (("Ana Ferrier", 0.9), ("Ferrier, Ohio", 0.1))


def test_candidates_of_several_full_names_are_joined():
  def named(text, *candidates):
    return benchmarks.Named(text, "", candidates, "")

  full = [named("Ana Ferrier", ("A", 0.8), ("B", 0.2)), named("Bo Ferrier", ("B", 1.0))]
  *_, short, part = benchmarks.with_full_names(
    [*full, named("Ferrier", ("C", 1.0)), named("Ferr", ("D", 1.0))], {"A", "B", "C"}
  )
  assert dict(short.candidates) == pytest.approx({"B": 0.6, "A": 0.4})
  assert part.candidates == (("D", 1.0),)


@pytest.mark.parametrize(
  ("line", "fault"),
  [
    ("7\t7\tAna", "line 1: 3 fields with tabs"),
    (
      "7\t7\tOhio\tl\tr\tCANDIDATES\tx,y\tGT:\t0,1,.5,A",
      "candidate 'x,y'; expected id,prior,title",
    ),
    ("7\t7\tOhio\tl\tr\tCANDIDATES\tEMPTYCAND\tGT:\tOhio", "'Ohio'; expected index,id"),
    ("7\t7\tOslo\tl\tr\tCANDIDATES\tEMPTYCAND\tGT:\t-1,1,A", "line 1: 'Oslo': not in the text"),
    ("5\t5\tOslo\tl\tr\tCANDIDATES\tEMPTYCAND\tGT:\t-1,1,A", "no document 5; expected it"),
  ],
)
def test_what_is_wrong_is_named(folder, line, fault):
  (folder / "aida_testB.csv").write_text(line + "\n")
  with pytest.raises(InputError, match=fault):
    read(folder / "aida_testB.csv", Faults())


def test_another_table_is_refused(tmp_path):
  (tmp_path / "names.csv").write_text("a,b\n")
  with pytest.raises(InputError, match=r"expected one of aida_train\.csv, "):
    read(Path(tmp_path) / "names.csv", Faults())


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
