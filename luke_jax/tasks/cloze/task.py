"""Cloze question answering as the engine trains it."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from luke_jax.errors import InputError, check_whole
from luke_jax.files import Path
from luke_jax.tasks.cloze import features, score
from luke_jax.tasks.cloze.features import ENTITY_WORD, HIGHLIGHT_WORD, PLACEHOLDER_WORD
from luke_jax.tasks.cloze.files import Example, parse, read
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.files import Faults
from luke_jax.tasks.fine_tuning import FineTunedTask, RowLogits
from luke_jax.tasks.predictions import Answer
from luke_jax.text import Processor, Row
from luke_jax.text.rows import Sizes


@dataclasses.dataclass(frozen=True)
class ClozeAnswering(FineTunedTask[Example, list[Answer]]):
  """Finds the entity of a passage that fills the gap of a question (paper §4.4)."""

  labels: tuple[str, ...] = ()  # none: candidates are scored
  words: int = 512  # the longest row
  entities: int = 128  # the gap and candidates; more of these take several rows
  mention: int = 30  # positions of a candidate, its markers included
  stride: int = 128  # pieces from the start of a window to that of the next
  authors: bool = False  # rows and losses of the authors' code, see docs/differences.md

  name: ClassVar[str] = "cloze"
  heads: ClassVar[tuple[str, ...]] = ("cloze",)
  # In the order of the authors' models.
  new_words: ClassVar[Mapping[str, str]] = {
    HIGHLIGHT_WORD: "@",
    PLACEHOLDER_WORD: "#",
    ENTITY_WORD: "*",
  }

  def __post_init__(self) -> None:
    super().__post_init__()
    if self.labels:
      raise InputError(f"labels: {', '.join(self.labels)}; expected none, candidates are scored")
    check_whole(1, stride=self.stride)
    if self.entities < 2:
      raise InputError(f"entities: {self.entities}; expected 2 at least, the gap and a candidate")

  @property
  def metric(self) -> str:
    """Returns the metric that selects a checkpoint."""
    return "exact_match"

  @property
  def sizes(self) -> Sizes:
    """Returns a row's room for words, for entities and for the pieces of a mention."""
    return Sizes(self.words, self.entities, self.mention)

  @property
  def micro_batch(self) -> int | None:
    """Returns the rows of a micro-batch in the authors' runs, whose losses are means of means."""
    return 1 if self.authors else None

  parse = staticmethod(parse)

  def read(self, path: Path, faults: Faults) -> list[Example]:
    """Reads the examples of a file."""
    return read(path, faults)

  def found_labels(self, examples: Sequence[Example]) -> tuple[str, ...]:
    """Returns no labels."""
    return ()

  def check_example(self, example: Example) -> None:
    """Raises InputError for an example without answers."""
    if not example.answers:
      raise InputError(f"{example.place}: answers: none; expected one at least")

  def features(
    self, processor: Processor, examples: Sequence[Example], faults: Faults | None = None
  ) -> list[Row]:
    """Returns the rows of each example."""
    faults = faults or Faults(skip=self.skip_bad)
    limits = features.Limits(self.stride, self.authors)
    return features.features(processor, examples, faults, limits)

  def label_shape(self) -> tuple[int, ...]:
    """Returns the shape of a row's labels: whether each candidate is an answer."""
    return (self.entities - 1,)

  def decode(
    self, examples: Sequence[Example], rows: Sequence[Row], outputs: RowLogits
  ) -> list[list[Answer]]:
    """Returns the candidates of each example, the best first."""
    return ranked_candidates(examples, rows, outputs)

  def evaluate(
    self, examples: Sequence[Example], predictions: Sequence[Sequence[Answer]]
  ) -> Evaluation:
    """Returns exact match and F1."""
    return score.evaluate(examples, predictions)

  def to_prediction(self, example: Example, prediction: Sequence[Answer]) -> dict[str, object]:
    """Returns an example's line in a file of predictions: the best candidate, and all scores."""
    best = prediction[0] if prediction else Answer("", 0, 0, 0.0)
    return {
      "id": example.id,
      "answer": best.text,
      "span": [best.start, best.end],
      "score": round(best.score, 4),
      "scores": [[answer.start, answer.end, round(answer.score, 4)] for answer in prediction],
    }


def ranked_candidates(
  examples: Sequence[Example], rows: Sequence[Row], outputs: RowLogits
) -> list[list[Answer]]:
  """Returns all candidates of each example by their best score in any window, the best first."""
  scores: list[dict[int, float]] = [{} for _ in examples]
  for i, row in enumerate(rows):
    logits, best = outputs["logits"][i], scores[row.example]
    for number, logit in zip(row.source, logits[: len(row.source)], strict=True):
      best[number] = max(float(logit), best.get(number, -math.inf))
  return [_ranked(example, best) for example, best in zip(examples, scores, strict=True)]


def _ranked(example: Example, scores: Mapping[int, float]) -> list[Answer]:
  answers = []
  for number in sorted(scores, key=lambda number: (-scores[number], number)):
    start, end = example.entities[number]
    probability = (1 + math.tanh(scores[number] / 2)) / 2  # the logistic function
    answers.append(Answer(example.text[start:end], start, end, probability))
  return answers
