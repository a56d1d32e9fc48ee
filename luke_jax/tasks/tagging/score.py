"""Scores of tagged entities, which are those of `ner`, beside the lenient reading of the tags."""

import dataclasses
from collections.abc import Sequence

from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.ner import score as spans
from luke_jax.tasks.ner.documents import NamesExample, labelled
from luke_jax.tasks.ner.score import read_predictions, score_file
from luke_jax.tasks.predictions import TaggedSpans
from luke_jax.tasks.tagging.features import spans_of

__all__ = ["evaluate", "read_predictions", "score_file"]


def evaluate(examples: Sequence[NamesExample], predictions: Sequence[TaggedSpans]) -> Evaluation:
  """Returns the evaluation of entities, and the F1 of tags that are read as conlleval does."""
  evaluation = spans.evaluate(examples, predictions)
  any_tags = [
    set(labelled(spans_of(x, tagged.tags, tagged.scores, None)))
    for x, tagged in zip(examples, predictions, strict=True)
  ]
  lenient = spans.score([set(x.spans or ()) for x in examples], any_tags)
  return dataclasses.replace(evaluation, scores={**evaluation.scores, "lenient_f1": lenient["f1"]})
