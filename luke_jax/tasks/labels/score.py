"""F1 of names with labels, where a name may have several and of some names nobody knows them."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from luke_jax.nn.losses import IGNORED
from luke_jax.tasks.calibration import Answered
from luke_jax.tasks.evaluation import Evaluation, precision_recall_f1
from luke_jax.tasks.labels.files import Example
from luke_jax.tasks.ner import score as ner_score
from luke_jax.tasks.ner.score import read_predictions, score_file
from luke_jax.tasks.predictions import Labelled, Span
from luke_jax.text import Row

__all__ = ["evaluate", "found", "of_lessons", "read_predictions", "score_file"]


def evaluate(
  examples: Sequence[Example], predictions: Sequence[Sequence[Span]], labels: Sequence[str]
) -> Evaluation:
  """Returns F1 of spans and the figures around it, of the labels that were asked for.

  A name with several of them is right with any. Names with none of them are no gold, and what
  touches a name whose labels nobody knows counts nowhere.
  """
  asked, gold, kept = set(labels), [], []
  for example, spans in zip(examples, predictions, strict=True):
    given = {(span.start, span.end): span.label for span in spans}
    right = []
    for span, all_labels in zip(example.spans or (), example.labels, strict=True):
      known = [label for label in all_labels if label in asked]
      answer = given.get((span.start, span.end))
      if known:
        right.append(Labelled(span.start, span.end, answer if answer in known else known[0]))
    gold.append(dataclasses.replace(example, spans=tuple(right), also=((),) * len(right)))
    kept.append([span for span in spans if not _touches(span, example)])
  return ner_score.evaluate(gold, kept)


def found(
  examples: Sequence[Example], predictions: Sequence[Sequence[Span]], labels: Sequence[str]
) -> tuple[list[Answered], int]:
  """Returns the answers, each right if a name with a label that was asked for is there.

  And the number of such names. Which of the labels it has, does not matter.
  """
  asked, answers, names = set(labels), [], 0
  for example, spans in zip(examples, predictions, strict=True):
    pairs = zip(example.spans or (), example.labels, strict=True)
    there = {(span.start, span.end) for span, of in pairs if not asked.isdisjoint(of)}
    names += len(there)
    answers += [
      Answered(x.score, (x.start, x.end) in there) for x in spans if not _touches(x, example)
    ]
  return answers, names


def of_lessons(rows: Sequence[Row], scores: Sequence[np.ndarray], threshold: float) -> Evaluation:
  """Returns F1 over the spans of rows to learn from, each with the likeliest label of its row.

  It says which of two checkpoints is better, but not how good one is: rows have few of the spans
  that have no label.
  """
  right = predicted = gold = 0
  for row, of_row in zip(rows, scores, strict=True):
    targets = np.asarray(row.labels)
    places = np.arange(len(targets)), of_row[: len(targets), : targets.shape[1]].argmax(-1)
    answers = targets[places][of_row[places] >= threshold]
    right += int((answers == 1).sum())
    predicted += int((answers != IGNORED).sum())
    gold += int((targets == 1).any(-1).sum())
  scores_of_all = precision_recall_f1(right, predicted, gold)
  return Evaluation({name: scores_of_all[name] for name in ("f1", "precision", "recall")})


def _touches(span: Span, example: Example) -> bool:
  return any(span.start < end and start < span.end for start, end in example.unknown)
