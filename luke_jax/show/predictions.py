"""A text with what a model found in it."""

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from luke_jax.show.marked import joined, terminal_text
from luke_jax.tasks.evaluation import Mark
from luke_jax.tasks.predictions import Answer, Relation, Span

NO_ANSWER = "(no answer)"
ALTERNATIVES = 3


def shown(example: Any, prediction: Any) -> Text:
  """For the terminal: the text with its marks and, where those do not tell all, a line below."""
  marked = terminal_text(example.text, marks(prediction))
  said = below(prediction)
  asked = getattr(example, "question", None) or getattr(example, "query", None)
  parts = [Text(f"{asked}\n", "bold")] if asked else []
  return Text.assemble(*parts, marked, *([f"\n  {said}"] if said else []), "\n")


def marks(prediction: Any) -> list[Mark]:
  """The stretches of the text that a prediction is about."""
  if isinstance(prediction, Relation):
    head, tail = prediction.head, prediction.tail
    return [Mark(head.start, head.end, "head"), Mark(tail.start, tail.end, "tail")]
  if prediction and isinstance(prediction[0], Answer):
    best = prediction[0]
    return [Mark(best.start, best.end, f"{best.score:.2f}")] if best.text else []
  return joined((span.start, span.end, span.label) for span in prediction)


def below(prediction: Any) -> str:
  """What the marks do not tell."""
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
