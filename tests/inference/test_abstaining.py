"""What is not sure enough is left out, of every kind of prediction."""

import dataclasses

import pytest

from luke_jax.errors import InputError
from luke_jax.inference.predicting import Abstaining
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.tasks.labels.task import LabelledNames
from luke_jax.tasks.linking.task import EntityLinking
from luke_jax.tasks.ner.task import NamedEntities
from luke_jax.tasks.predictions import (
  Answer,
  Label,
  Labels,
  Mention,
  Number,
  Relation,
  Span,
  TaggedSpans,
  Types,
)
from luke_jax.tasks.relations.task import RelationClassification
from luke_jax.tasks.typing.task import EntityTyping

SPANS = (Span("Ana", 0, 3, "PER", 0.9), Span("Bo", 4, 6, "LOC", 0.4))
HEAD, TAIL = Mention("Ana", 0, 3), Mention("Bo", 4, 6)
NER = NamedEntities(labels=("NIL", "PER"))
SEVERAL = [EntityTyping(labels=("a", "b")), TextClassification(target="labels")]


@pytest.mark.parametrize(
  ("task", "prediction", "kept"),
  [
    (NER, list(SPANS), [SPANS[0]]),
    (NER, [], []),
    (NER, Types(SPANS, {"PER": 2.0}), Types(SPANS[:1], {"PER": 2.0})),
    (NER, TaggedSpans(SPANS, ("O",), (1.0,)), TaggedSpans(SPANS[:1], ("O",), (1.0,))),
    (NER, [Answer("Ana", 0, 3, 0.4)], []),
    (
      TextClassification(),
      Labels((Label("good", 0.4), Label("bad", 0.3)), {"good": 0.4}),
      Labels((), {"good": 0.4}),
    ),
    (
      RelationClassification(labels=("no_relation", "child")),
      Relation(HEAD, TAIL, "child", 0.4),
      Relation(HEAD, TAIL, "no_relation", 0.4),
    ),
    (
      RelationClassification(labels=("child", "spouse")),
      Relation(HEAD, TAIL, "child", 0.4),
      Relation(HEAD, TAIL, "", 0.4),
    ),
  ],
)
def test_only_sure_answers_are_kept(task, prediction, kept):
  assert Abstaining(task, 0.5).kept(prediction) == kept
  assert Abstaining(task, None).kept(prediction) is prediction
  assert Abstaining(task, 0.2).kept(prediction) == prediction


@pytest.mark.parametrize("task", SEVERAL)
def test_a_least_score_below_the_usual_threshold_answers_more(task):
  assert Abstaining(task, None).task == task
  assert Abstaining(task, 0.1).task.threshold < task.threshold


@pytest.mark.parametrize("task", [LabelledNames(labels=("ship",)), EntityLinking()])
def test_tasks_with_a_threshold_of_their_own_take_it(task):
  made = Abstaining(task, 0.7)
  assert made.task == dataclasses.replace(task, threshold=0.7)
  assert made.kept(list(SPANS)) == list(SPANS)


def test_what_has_no_score_cannot_be_left_out():
  with pytest.raises(InputError, match="threshold: of a number, which has no score"):
    Abstaining(TextClassification(), 0.5).kept(Number(3.0))
  with pytest.raises(InputError, match=r"threshold: 1\.5; expected a number from 0 to 1"):
    Abstaining(NER, 1.5)
