"""Most probable answers to questions from a model's outputs for their rows."""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from luke_jax.tasks.contract import RowLogits
from luke_jax.tasks.predictions import Answer
from luke_jax.tasks.qa.features import Window
from luke_jax.tasks.qa.files import QuestionExample
from luke_jax.text import Row
from luke_jax.wiki.stages.tokens import TOKEN

NO_ANSWER = Answer("", 0, 0, 0.0)


class Choice(NamedTuple):
  """Limits of the number and length of answers, and whether there may be none.

  The score of "no answer" is less by `null_threshold` than the model's. With `authors` it stays as
  it is, and "no answer" comes first if it is above the best answer's by more than that.
  """

  n_best: int
  answer_words: int
  unanswerable: bool
  null_threshold: float
  authors: bool = False  # only stretches from the best starts of a row to its best ends


class _Scored(NamedTuple):
  window: Window
  starts: np.ndarray  # logits of the tokens of the passage that the row has
  ends: np.ndarray
  null: float  # the score of no answer


def decode(
  examples: Sequence[QuestionExample], rows: Sequence[Row], outputs: RowLogits, choice: Choice
) -> list[list[Answer]]:
  """Returns the answers to each question with the highest sums of logits, the best first.

  Every stretch of whole words of at most `answer_words` pieces is a candidate, or as in the
  authors' code those from the `n_best` best starts of a row to its as many best ends. It is scored
  in the window with the most context around its first piece. Scores become probabilities among the
  returned answers.
  """
  scored: list[list[_Scored]] = [[] for _ in examples]
  for number, row in enumerate(rows):
    starts, ends = (outputs[name][number] for name in ("start_logits", "end_logits"))
    scored[row.example].append(_scored(row, starts, ends, choice))
  return [
    _with_probabilities(
      list(itertools.islice(_ranked(example.text, of_example, choice), choice.n_best)),
      of_example,
      choice,
    )
    if of_example
    else [NO_ANSWER]  # its example has a fault
    for example, of_example in zip(examples, scored, strict=True)
  ]


def _scored(row: Row, starts: np.ndarray, ends: np.ndarray, choice: Choice) -> _Scored:
  window: Window = row.source
  length = len(row.input_ids)
  passage = slice(window.place, length - 1)
  starts, ends = (np.asarray(logits[:length], np.float64) for logits in (starts, ends))
  null = float(starts[0] + ends[0]) - (0 if choice.authors else choice.null_threshold)
  if choice.authors:
    starts, ends = (_best(logits, choice.n_best) for logits in (starts, ends))
  return _Scored(window, starts[passage], ends[passage], null)


def _best(logits: np.ndarray, number: int) -> np.ndarray:
  """Returns the highest logits of a row, question and all, and -inf in the place of the others."""
  likeliest = np.argsort(-logits, kind="stable")[:number]
  best = np.full_like(logits, -np.inf)
  best[likeliest] = logits[likeliest]
  return best


def _ranked(text: str, rows: Sequence[_Scored], choice: Choice) -> Iterator[Answer]:
  """Yields different answers with their scores, the best first."""
  owners = _owners(rows)
  scores, places = zip(*(_spans(row, owners, choice.answer_words) for row in rows), strict=True)
  all_scores, all_places = np.concatenate(scores), np.concatenate(places)
  offsets, seen = rows[0].window.offsets, set()
  if not choice.authors:
    begins, ends = _whole_words(text, offsets)
    all_scores = np.where(begins[all_places[:, 0]] & ends[all_places[:, 1]], all_scores, -np.inf)
  order = np.argsort(-all_scores, kind="stable")
  for i in order[np.isfinite(all_scores[order])]:
    first, last = all_places[i]
    start, end = int(offsets[first, 0]), int(offsets[last, 1])
    answer = text[start:end]
    start += len(answer) - len(answer.lstrip())
    answer = answer.strip()
    if answer and answer not in seen:
      seen.add(answer)
      yield Answer(answer, start, start + len(answer), float(all_scores[i]))


def _whole_words(text: str, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
  """Returns whether a word begins and whether one ends with each token of a passage."""
  begins, ends = (np.ones(len(text) + 1, bool) for _ in range(2))
  for word in TOKEN.finditer(text):
    begins[word.start() + 1 : word.end()] = ends[word.start() + 1 : word.end()] = False
  return begins[offsets[:, 0]], ends[offsets[:, 1]]


def _owners(rows: Sequence[_Scored]) -> np.ndarray:
  """Returns the start of the window with the most context around each token of the passage.

  The context is the smaller of the parts before and after the token; if windows agree in it, the
  longer window counts, then the first.
  """
  tokens = len(rows[0].window.offsets)
  most, owners = np.full(tokens, -1.0), np.full(tokens, -1)
  for window, starts, *_ in rows:
    size = len(starts)
    covered = slice(window.start, window.start + size)
    place = np.arange(size)
    around = np.minimum(place, size - 1 - place) + 0.01 * size
    better = around > most[covered]
    most[covered][better], owners[covered][better] = around[better], window.start
  return owners


def _spans(row: _Scored, owners: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
  """Returns the scores of a row's stretches, and their first and last tokens in the passage."""
  size = len(row.starts)
  (firsts,) = np.nonzero(owners[row.window.start : row.window.start + size] == row.window.start)
  # Of equal sums the one with the higher start comes first, as in the authors' code.
  firsts = firsts[np.argsort(-row.starts[firsts], kind="stable")]
  lasts = firsts[:, None] + np.arange(min(most, size))
  inside = lasts < size
  scores = row.starts[firsts][:, None] + row.ends[np.minimum(lasts, size - 1)]
  pairs = np.stack([np.broadcast_to(firsts[:, None], lasts.shape), lasts], axis=-1)
  return scores[inside], row.window.start + pairs[inside]


def _with_probabilities(
  answers: list[Answer], rows: Sequence[_Scored], choice: Choice
) -> list[Answer]:
  """Returns the answers with "no answer" among them by its score, and probabilities for scores."""
  if choice.unanswerable or not answers:
    null = min(row.null for row in rows)
    place = sum(answer.score >= null for answer in answers)
    if place < choice.n_best:  # it is one of the best, and otherwise beside them
      del answers[choice.n_best - 1 :]
    if choice.authors and answers:
      place = 0 if null - answers[0].score > choice.null_threshold else max(place, 1)
    answers.insert(place, NO_ANSWER._replace(score=null))
  scores = np.array([answer.score for answer in answers])
  odds = np.exp(scores - scores.max())
  return [
    answer._replace(score=float(share))
    for answer, share in zip(answers, odds / odds.sum(), strict=True)
  ]
