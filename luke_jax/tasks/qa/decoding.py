"""The likeliest answers to questions by a model's outputs for their rows."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from luke_jax.tasks.predictions import Answer
from luke_jax.tasks.qa.features import Window
from luke_jax.tasks.qa.files import Example
from luke_jax.text import Row

NO_ANSWER = Answer("", 0, 0, 0.0)


class Choice(NamedTuple):
  """How many answers are told, how long they can be, and whether there may be none.

  That there is none comes first where its score is above the best answer's by more than
  `null_threshold`.
  """

  n_best: int
  answer_words: int
  unanswerable: bool
  null_threshold: float


class _Scored(NamedTuple):
  window: Window
  starts: np.ndarray  # logits of the tokens of the passage that the row has
  ends: np.ndarray
  null: float  # the score of no answer


def decode(
  examples: Sequence[Example],
  features: Sequence[Row],
  outputs: Mapping[str, Any],
  choice: Choice,
) -> list[list[Answer]]:
  """The answers to each question with the highest sums of logits, the best first.

  Every stretch of at most `answer_words` pieces is looked at, where the paper's code has those
  between the 20 best starts and the 20 best ends. It counts in the window where most stands around
  its first piece. Scores become probabilities among the answers told.
  """
  rows: list[list[_Scored]] = [[] for _ in examples]
  for number, feature in enumerate(features):
    starts, ends = (outputs[name][number] for name in ("start_logits", "end_logits"))
    rows[feature.example].append(_scored(feature, starts, ends))
  return [
    _told(list(itertools.islice(_ranked(example.text, own, choice), choice.n_best)), own, choice)
    if own
    else [NO_ANSWER]  # its example is at fault
    for example, own in zip(examples, rows, strict=True)
  ]


def _scored(feature: Row, starts: np.ndarray, ends: np.ndarray) -> _Scored:
  window: Window = feature.source
  passage = slice(window.place, len(feature.input_ids) - 1)
  starts, ends = (np.asarray(logits, np.float64) for logits in (starts, ends))
  return _Scored(window, starts[passage], ends[passage], float(starts[0] + ends[0]))


def _ranked(text: str, rows: Sequence[_Scored], choice: Choice) -> Iterator[Answer]:
  """Different answers with their scores, the best first."""
  owners = _owners(rows)
  scores, places = zip(*(_spans(row, owners, choice.answer_words) for row in rows), strict=True)
  all_scores, all_places = np.concatenate(scores), np.concatenate(places)
  offsets, seen = rows[0].window.offsets, set()
  for i in np.argsort(-all_scores, kind="stable"):
    first, last = all_places[i]
    start, end = int(offsets[first, 0]), int(offsets[last, 1])
    answer = text[start:end]
    start += len(answer) - len(answer.lstrip())
    answer = answer.strip()
    if answer and answer not in seen:
      seen.add(answer)
      yield Answer(answer, start, start + len(answer), float(all_scores[i]))


def _owners(rows: Sequence[_Scored]) -> np.ndarray:
  """For each token of the passage, where the window starts in which most stands around it.

  That is the smaller of what stands before and after it and, where windows agree in that, the
  longer one; then the first.
  """
  tokens = len(rows[0].window.offsets)
  most, owners = np.full(tokens, -1.0), np.full(tokens, -1)
  for window, starts, *_ in rows:
    size = len(starts)
    here = slice(window.start, window.start + size)
    place = np.arange(size)
    around = np.minimum(place, size - 1 - place) + 0.01 * size
    better = around > most[here]
    most[here][better], owners[here][better] = around[better], window.start
  return owners


def _spans(row: _Scored, owners: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
  """The scores of the stretches in a row, and their first and last tokens in the passage."""
  size = len(row.starts)
  (firsts,) = np.nonzero(owners[row.window.start : row.window.start + size] == row.window.start)
  lasts = firsts[:, None] + np.arange(min(most, size))
  inside = lasts < size
  scores = row.starts[firsts][:, None] + row.ends[np.minimum(lasts, size - 1)]
  pairs = np.stack([np.broadcast_to(firsts[:, None], lasts.shape), lasts], axis=-1)
  return scores[inside], row.window.start + pairs[inside]


def _told(answers: list[Answer], rows: Sequence[_Scored], choice: Choice) -> list[Answer]:
  """The answers, with that there is none in its place, and probabilities for scores."""
  if choice.unanswerable or not answers:
    null = min(row.null for row in rows)
    place = sum(answer.score >= null for answer in answers)
    if answers:
      best = answers[0].score
      place = 0 if null - best > choice.null_threshold else max(place, 1)
    answers.insert(place, NO_ANSWER._replace(score=null))
  scores = np.array([answer.score for answer in answers])
  odds = np.exp(scores - scores.max())
  return [
    answer._replace(score=float(share))
    for answer, share in zip(answers, odds / odds.sum(), strict=True)
  ]
