"""The n-best list is what looking at all spans of all windows gives."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.tasks.qa.features import Window
from luke_jax.tasks.qa.files import QuestionExample
from luke_jax.tasks.qa.task import QuestionAnswering
from luke_jax.text import Row

TEXT = "Rye is an old town of Sussex"
OFFSETS = np.array([(0, 3), (4, 6), (7, 9), (10, 13), (14, 18), (19, 21), (22, 28)], np.int32)
TASK = QuestionAnswering(n_best=3, answer_words=3)
QUESTION = 4  # tokens before the passage


def asked(text=TEXT):
  return QuestionExample("a", "here", text, "Where?")


def row(start, length, example=0, offsets=OFFSETS):
  ids = np.zeros(QUESTION + length + 1, np.int32)
  empty = np.zeros((0, 2), np.int32)
  return Row(example, ids, empty[:, 0], empty, source=Window(start, QUESTION, offsets))


def logits(*values, null=-20.0, width=16):
  """Of a row's passage; what is around it is louder than all."""
  array = np.full(width, 50, np.float32)
  array[0] = null
  array[QUESTION : QUESTION + len(values)] = values
  return array


def answered(rows, starts, ends, task=TASK):
  (answers,) = task.decode([asked()], rows, {"start_logits": starts, "end_logits": ends})
  return answers


def test_one_window():
  answers = answered([row(0, 7)], [logits(0, 0, 0, 5, 0, 0, 0)], [logits(0, 0, 0, 1, 4, 0, 9)])
  # "old … Sussex" would have the most, but is four pieces long.
  assert [answer.text for answer in answers] == ["old town", "town of Sussex", "of Sussex"]
  best = answers[0]
  assert TEXT[best.start : best.end] == best.text
  assert sum(answer.score for answer in answers) == pytest.approx(1)
  assert best.score == pytest.approx(1 / 3)


def test_a_stretch_counts_where_most_stands_around_it():
  rows = [row(0, 5), row(2, 5)]
  # "an" stands in the middle of the first window and at the edge of the second.
  answers = answered(rows, [logits(0, 0, 1, 0, 0), logits(9, 0, 0, 0, 0)], [logits(*[0] * 5)] * 2)
  assert answers[0].text.startswith("an")
  assert np.log(answers[0].score / answers[-1].score) < 2
  answers = answered(rows, [logits(0, 0, 0, 0, 0), logits(0, 0, 9, 0, 0)], [logits(*[0] * 5)] * 2)
  assert answers[0].text.startswith("town")
  assert all(answer.score > 0.3 for answer in answers)


def test_windows_that_share_out_entities_both_count():
  rows = [row(0, 7), row(0, 7)]
  quiet, loud = logits(*[0] * 7), logits(0, 0, 0, 0, 7, 0, 0)
  for starts in ([quiet, loud], [loud, quiet]):
    assert answered(rows, starts, starts)[0].text == "town"


def test_no_answer():
  starts, ends = [logits(3, 0, 0, 0, 0, 0, 0, null=2.5)], [logits(3, 0, 0, 0, 0, 0, 0, null=4.0)]

  def said(threshold, unanswerable=True):
    task = dataclasses.replace(TASK, unanswerable=unanswerable, null_threshold=threshold)
    return [answer.text for answer in answered([row(0, 7)], starts, ends, task)]

  assert said(0.0)[:2] == ["", "Rye"]
  assert said(0.5)[:2] == ["Rye", ""]  # 6.5 is not above 6 by more
  assert said(-9.0)[0] == ""
  assert "" not in said(0.0, unanswerable=False)
  # The window that is least sure of it decides.
  rows, sure = [row(0, 7), row(0, 7)], logits(*[0] * 7, null=30.0)
  both = dataclasses.replace(TASK, unanswerable=True)
  assert answered(rows, [starts[0], sure], [ends[0], sure], both)[0].text == ""
  unsure = logits(*[0] * 7, null=-2.0)
  assert answered(rows, [unsure, sure], [ends[0], sure], both)[0].text == "Rye"


def test_rows_of_several_examples():
  rows = [row(0, 7), row(0, 3, example=1, offsets=OFFSETS[:3])]
  examples = [asked(), asked("One is it.")]
  loud = [logits(0, 0, 9, 0, 0, 0, 0), logits(0, 0, 9)]
  outputs = dict.fromkeys(("start_logits", "end_logits"), loud)
  one, two = TASK.decode(examples, rows, outputs)
  assert (one[0].text, two[0].text) == ("an", "it")


def test_answers_are_of_whole_words():
  text = "Gustave Eiffel, 1889年巴黎"
  offsets = np.array([(0, 7), (8, 9), (9, 14), (14, 15), (16, 18), (18, 20), (20, 21), (21, 22)])
  loud = logits(0, 0, 9, 0, 0, 8, 0, 7)  # half words, and a character of Chinese
  rows, outputs = [row(0, 8, offsets=offsets)], {"start_logits": [loud], "end_logits": [loud]}
  task = dataclasses.replace(TASK, n_best=50, answer_words=8)
  (answers,) = task.decode([asked(text)], rows, outputs)
  texts = [answer.text for answer in answers]
  assert "Eiffel" in texts and "1889" in texts and "巴" in texts
  assert not {"iffel", "Gustave E", "89", "E", "18"} & set(texts)
  task = dataclasses.replace(task, authors=True)
  (answers,) = task.decode([asked(text)], rows, outputs)
  assert answers[0].text == "iffel"  # pieces as they are


@given(st.data())
def test_as_looking_at_all(data):
  length, most = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 8))
  size = data.draw(st.integers(1, length))
  step = data.draw(st.integers(1, size))
  starts = [0]
  while starts[-1] + size < length:
    starts.append(starts[-1] + step)
  windows = [(start, min(size, length - start)) for start in starts]
  numbers = st.integers(-40, 40).map(lambda x: x / 4)
  tables = [
    [logits(*data.draw(st.lists(numbers, min_size=n, max_size=n))) for _, n in windows]
    for _ in range(2)
  ]
  task = dataclasses.replace(TASK, n_best=data.draw(st.integers(1, 9)), answer_words=most)
  rows = [row(start, n, offsets=OFFSETS[:length]) for start, n in windows]
  answers = answered(rows, *tables, task)

  def around(token, window):
    start, n = window
    inside = start <= token < start + n
    return min(token - start, start + n - 1 - token) + 0.01 * n if inside else -1

  scores = {}
  for number, (start, n) in enumerate(windows):
    for first in range(start, start + n):
      if max(windows, key=lambda window: around(first, window)) != (start, n):
        continue
      for last in range(first, min(first + most, start + n)):
        place = QUESTION - start
        score = tables[0][number][first + place] + tables[1][number][last + place]
        scores[int(OFFSETS[first, 0]), int(OFFSETS[last, 1])] = float(score)
  best = sorted(scores.values(), reverse=True)[: task.n_best]
  assert [scores[answer[1:3]] for answer in answers] == best
  odds = np.exp(np.array(best) - best[0])
  assert [answer.score for answer in answers] == pytest.approx((odds / odds.sum()).tolist())
