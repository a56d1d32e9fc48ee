"""Predictions in their text: entities, answers and labels as pictures, all in the terminal."""

import html
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from luke_jax.errors import InputError
from luke_jax.show.marked import html_text, hue, terminal_text
from luke_jax.show.picture import Picture, bars
from luke_jax.tasks.cloze.files import PLACEHOLDER
from luke_jax.tasks.evaluation import Mark, outcomes
from luke_jax.tasks.predictions import Answer, Labels, Link, Number, Relation, Span
from luke_jax.terminal import visible
from luke_jax.text.parts import checked_spans


def entities(
  text: str, spans: Sequence[object], *, gold: Sequence[object] | None = None
) -> Picture:
  """Draws a text with its entities, each label in its colour, which is the same in all pictures.

  `spans` are what `model.predict` returns, or (start, end, label). A span with several labels has
  the colour of the first. With `gold`, the spans that are expected, signs say which are right,
  wrong or missing.
  """
  marks = _checked_marks(text, spans)
  if gold is not None:
    judged = outcomes(_checked_marks(text, gold), marks)
    marks = [mark._replace(outcome=outcome) for mark, outcome in judged]
  none = "" if marks else '<p class="note">nothing found</p>'
  body = f'<p class="marked" dir="auto">{html_text(text, marks)}</p>{none}'
  return Picture(body, text[:60])


def _checked_marks(text: str, spans: Sequence[Any]) -> list[Mark]:
  """Returns marks for spans of either form, checked."""
  plain = [(s.start, s.end, s.label) if isinstance(s, Span) else s for s in spans]
  for number, span in enumerate(plain):
    if not isinstance(span, tuple | list) or len(span) != 3 or not isinstance(span[2], str):
      raise InputError(f"span {number}: {span!r}; expected (start, end, label)")
  places = checked_spans([span[:2] for span in plain], len(text), "spans")
  return [Mark(*place, span[2]) for place, span in zip(places, plain, strict=True)]


LEAST_OPACITY = 0.2  # opacity of the faintest answer, where the best has 1


def answers(text: str, question: str, answers: Sequence[Answer], *, count: int = 5) -> Picture:
  """Draws a passage with the best answers to a question, fainter where less probable.

  The question may have a gap, as in cloze. `count` different answers are listed, each where it is
  most probable; an answer that overlaps a better one is not marked in the passage.
  """
  if count < 1:
    raise InputError(f"count: {count}; expected 1 or more")
  different: dict[str, Answer] = {}
  for answer in answers:
    different.setdefault(answer.text, answer)
  shown = list(different.values())[:count]
  spans = [(answer.start, answer.end) for answer in shown if answer.text]
  checked_spans(spans, len(text), "answers")
  ranked = [(rank, answer) for rank, answer in enumerate(shown, start=1) if answer.text]
  best = max((answer.score for _, answer in ranked), default=1.0) or 1.0
  ranked = [(rank, x) for rank, x in ranked if not _overlaps(x, shown[: rank - 1])]
  marks = [Mark(answer.start, answer.end, str(rank)) for rank, answer in ranked]
  shares = {str(rank): max(LEAST_OPACITY, answer.score / best) for rank, answer in ranked}
  colour = f"--hue: {hue('answer')}"
  marked = html_text(text, marks, lambda mark: f"{colour}; --share: {shares[mark.name]:.2f}")
  gap = '<span class="gap" title="the gap to fill">&nbsp;</span>'
  shown_question = html.escape(question).replace(PLACEHOLDER, gap)
  rows = [(f"{rank}  {x.text or NO_ANSWER}", x.score) for rank, x in enumerate(shown, start=1)]
  body = f'<h3>{shown_question}</h3><p class="marked" dir="auto">{marked}</p>{bars(rows)}'
  return Picture(body, question[:60])


def _overlaps(answer: Answer, better: Sequence[Answer]) -> bool:
  return any(x.text and x.start < answer.end and answer.start < x.end for x in better)


def labels(text: str, prediction: object, *, pair: str | None = None, count: int = 10) -> Picture:
  """Draws a text, or a pair, above the probabilities of its `count` most probable labels.

  `prediction` is what `model.predict` returns for a text that is given labels.
  """
  if not isinstance(prediction, Labels):
    raise InputError(f"prediction: a {type(prediction).__name__}; expected labels of a text")
  ordered = sorted(prediction.scores.items(), key=lambda item: -item[1])
  texts = "".join(f'<p dir="auto">{html.escape(x)}</p>' for x in (text, pair) if x is not None)
  chosen = ", ".join(x.label for x in prediction) or "nothing"
  note = f'<p class="note">{html.escape(chosen)}</p>'
  return Picture(f"{texts}{note}{bars(ordered[:count])}", text[:60])


NO_ANSWER = "(no answer)"
ALTERNATIVES = 3


def shown(example: Any, prediction: Any) -> Text:
  """Returns the text with its marks, and with a line below where marks do not show everything."""
  marked = terminal_text(example.text, marks(prediction))
  line = below(prediction)
  question = getattr(example, "question", None) or getattr(example, "query", None)
  parts = [Text(f"{visible(question)}\n", "bold")] if question else []
  pair = getattr(example, "text_pair", None)
  after = [f"\n{visible(x)}" for x in (pair, f"  {line}" if line else "") if x]
  return Text.assemble(*parts, marked, *after, "\n")


def pictured(example: Any, prediction: Any) -> Picture:
  """Returns the same as `shown` as a picture for a page."""
  question = getattr(example, "question", None) or getattr(example, "query", None)
  pair = getattr(example, "text_pair", None)
  parts = [f"<h3>{html.escape(question)}</h3>"] if question else []
  parts.append(f'<p class="marked" dir="auto">{html_text(example.text, marks(prediction))}</p>')
  parts += [f'<p dir="auto">{html.escape(pair)}</p>'] if pair else []
  line = below(prediction)
  parts += [f'<p class="note">{html.escape(line)}</p>'] if line else []
  return Picture("".join(parts), example.text[:60])


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
  """Returns a line of scores and all else that the marks do not show."""
  if isinstance(prediction, Number):
    return f"{prediction.value:.4g}"
  if isinstance(prediction, Labels):
    return ", ".join(f"{x.label} {x.score:.2f}" for x in prediction) or "nothing"
  if isinstance(prediction, Relation):
    return f"{prediction.head.text} | {prediction.label} | {prediction.tail.text}" + (
      f"  {prediction.score:.2f}"
    )
  if prediction and isinstance(prediction[0], Answer):
    best = prediction[:ALTERNATIVES]
    return ", ".join(f"{answer.text or NO_ANSWER} {answer.score:.2f}" for answer in best)
  spans: Sequence[Span | Link] = prediction
  return ", ".join(map(_told, spans)) or "nothing"


def _told(span: Span | Link) -> str:
  item = f" (wikidata.org/wiki/{span.item})" if isinstance(span, Link) and span.item else ""
  return f"{span.text}: {span.label}{item} {span.score:.2f}"
