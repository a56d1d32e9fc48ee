"""Entities from logits: greedy by logit, without overlap, over all rows of a document."""

import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tiny import tiny_processor

from luke_jax.tasks.files import Faults
from luke_jax.tasks.ner.decoding import decode
from luke_jax.tasks.ner.documents import of_words
from luke_jax.tasks.ner.features import Limits, features

LABELS = ("NIL", "LOC", "PER")
PROCESSOR = dataclasses.replace(tiny_processor(), max_length=64, max_entity_length=5)


def rows_of(examples):
  return features(PROCESSOR, examples, Limits(3, None, True), labels=LABELS, faults=Faults())


def logits_of(rows, scored):
  """Logits of every row: NIL, but for the spans of words of an example that are scored."""
  outputs = []
  for row in rows:
    logits = np.tile(np.float32([5, 0, 0]), (8, 1))
    for i, span in enumerate(map(tuple, row.source.tolist())):
      logits[i] = scored.get((row.example, *span), logits[i])
    outputs.append(logits)
  return outputs


def test_the_highest_logit_wins_over_all_rows():
  examples = [
    of_words("1", "p", [["Ana", "Los", "Angeles"], ["Rome"]]),
    of_words("2", "p", []),
    of_words("3", "p", [["Oslo"]]),
  ]
  rows = rows_of(examples)
  assert len(rows) > len(examples)
  scored = {
    (0, 1, 2): [0, 6, 1],
    (0, 1, 3): [0, 7, 1],  # above the one before, which overlaps
    (0, 0, 3): [6.5, 6, 1],  # best is NIL
    (0, 0, 1): [1, 2, 3],
    (0, 3, 4): [2, 8, 8.5],
    (2, 0, 1): [0, 0.5, 0],
  }
  outputs = {"logits": logits_of(rows, scored)}
  first, second, third = decode(examples, rows, outputs, LABELS)
  assert [(span.text, span.label) for span in first] == [
    ("Ana", "PER"),
    ("Los Angeles", "LOC"),
    ("Rome", "PER"),
  ]
  assert second == []
  assert (third[0].text, third[0].label) == ("Oslo", "LOC")
  np.testing.assert_allclose(third[0].score, np.exp(0.5) / (2 + np.exp(0.5)), rtol=1e-6)
  for example, spans in zip(examples, (first, second, third), strict=True):
    assert all(example.text[span.start : span.end] == span.text for span in spans)


def test_rows_may_be_of_many_widths_or_one_array():
  example = of_words("1", "p", [["Ana", "in", "Rome"]])
  rows = rows_of([example])
  wide = logits_of(rows, {(0, 2, 3): [0, 1, 0]})
  narrow = [logits[: len(row.entity_ids)] for row, logits in zip(rows, wide, strict=True)]
  assert decode([example], rows, {"logits": wide}, LABELS) == decode(
    [example], rows, {"logits": narrow}, LABELS
  )
  assert decode([example], rows, {"logits": np.stack(wide)}, LABELS)[0][0].text == "Rome"


def test_nothing_to_decode():
  assert decode([of_words("1", "p", [])], [], {}, LABELS) == [[]]


@given(st.data())
def test_greedy_by_logit(data):
  sentences = data.draw(st.lists(st.lists(st.just("a"), min_size=1, max_size=5), max_size=3))
  example = of_words("1", "p", sentences)
  rows = rows_of([example])
  candidates = [tuple(span) for row in rows for span in row.source.tolist()]
  logit = st.integers(-3, 3).map(float)
  scored = {(0, *span): data.draw(st.tuples(logit, logit, logit)) for span in candidates}
  left = [(max(x), *key[1:], x.index(max(x))) for key, x in scored.items() if x.index(max(x))]
  expected = []
  while left:
    best = max(left, key=lambda x: x[0])  # the first of those that are as good
    expected.append(best[1:])
    left = [x for x in left if x[2] <= best[1] or best[2] <= x[1]]
  (found,) = decode([example], rows, {"logits": logits_of(rows, scored)}, LABELS)
  words = example.words
  assert [(span.start, span.end, span.label) for span in found] == [
    (words[start][0], words[end - 1][1], LABELS[label]) for start, end, label in sorted(expected)
  ]
