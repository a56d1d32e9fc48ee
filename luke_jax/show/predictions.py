"""Predictions in their text, for the terminal."""

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from luke_jax.show.marked import terminal_text
from luke_jax.tasks.evaluation import Mark
from luke_jax.tasks.predictions import Answer, Labels, Number, Relation, Span

NO_ANSWER = "(no answer)"
ALTERNATIVES = 3


def shown(example: Any, prediction: Any) -> Text:
  """Returns the text with its marks, and with a line below where marks do not show everything."""
  marked = terminal_text(example.text, marks(prediction))
  line = below(prediction)
  question = getattr(example, "question", None) or getattr(example, "query", None)
  parts = [Text(f"{question}\n", "bold")] if question else []
  pair = getattr(example, "text_pair", None)
  after = [f"\n{pair}"] if pair else []
  return Text.assemble(*parts, marked, *after, *([f"\n  {line}"] if line else []), "\n")


def marks(prediction: Any) -> list[Mark]:
  """Returns the spans of the text that a prediction is about."""
  if isinstance(prediction, Labels | Number):
    return []
  if isinstance(prediction, Relation):
    head, tail = prediction.head, prediction.tail
    return [Mark(head.start, head.end, "head"), Mark(tail.start, tail.end, "tail")]
  if prediction and isinstance(prediction[0], Answer):
    best = prediction[0]
    return [Mark(best.start, best.end, "answer")] if best.text else []
  return [Mark(span.start, span.end, span.label) for span in prediction]


def below(prediction: Any) -> str:
  """Returns what the marks do not show, such as scores."""
  if isinstance(prediction, Number):
    return f"{prediction.value:.4g}"
  if isinstance(prediction, Labels):
    return ", ".join(f"{x.label} {x.score:.2f}" for x in prediction) or "nothing"
  if isinstance(prediction, Relation):
    return f"{prediction.head.text} | {prediction.label} | {prediction.tail.text}" + (
      f"  {prediction.score:.2f}"
    )
  if prediction and isinstance(prediction[0], Answer):
    return _answers(prediction)
  scores: Sequence[Span] = prediction
  return ", ".join(f"{span.text}: {span.label} {span.score:.2f}" for span in scores) or "nothing"


def _answers(answers: Sequence[Answer]) -> str:
  best = answers[:ALTERNATIVES]
  return ", ".join(f"{answer.text or NO_ANSWER} {answer.score:.2f}" for answer in best)
