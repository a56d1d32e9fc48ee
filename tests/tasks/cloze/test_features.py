"""Cloze questions as rows, and back to answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import tiny_processor

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.nn.losses import IGNORED
from luke_jax.tasks.cloze.files import parse
from luke_jax.tasks.cloze.task import ClozeAnswering, highlighted
from luke_jax.tasks.predictions import Answer
from luke_jax.tasks.running import fitted
from luke_jax.text import Processor
from luke_jax.text.rows import Room, padded

TEXT = "Ana met Bob Lee in Oslo. \n@highlight\nBob was late @highlight no"
ENTITIES = [(0, 3), (8, 15), (8, 11), (19, 23), (37, 40)]


def processor(task, kind="byte_level") -> Processor:
  tiny = tiny_processor(kind)
  return fitted(task, Processor(tiny.tokenizer.with_words(task.new_words), tiny.entity_vocab))


def example(text=TEXT, entities=ENTITIES, **fields):
  value = {"text": text, "query": "No, @placeholder was.", "entities": list(map(list, entities))}
  return parse(value | fields, "a", "file: line 1")


def words(processor, row):
  return [processor.tokenizer.decode([id]) for id in row.input_ids]


def entity_texts(processor, row):
  return [
    processor.tokenizer.decode(row.input_ids[start:end].tolist())
    for start, end in row.entity_tokens
  ]


def test_a_question_as_a_row():
  task = ClozeAnswering()
  reader = processor(task)
  (row,) = task.features(reader, [example(answers=[[8, 11], [37, 40]])])
  text = reader.tokenizer.decode(row.input_ids.tolist())
  assert text == (
    "<s>No,[PLACEHOLDER] was.</s></s>[ENTITY]Ana[ENTITY] met[ENTITY][ENTITY] Bob[ENTITY] Lee"
    "[ENTITY] in[ENTITY] Oslo[ENTITY].[HIGHLIGHT][ENTITY] Bob[ENTITY] was late[HIGHLIGHT] no</s>"
  )
  assert entity_texts(reader, row) == [
    "[PLACEHOLDER]",
    "[ENTITY]Ana[ENTITY]",
    "[ENTITY][ENTITY] Bob[ENTITY] Lee[ENTITY]",
    "[ENTITY] Bob[ENTITY]",
    "[ENTITY] Oslo[ENTITY]",
    "[ENTITY] Bob[ENTITY]",
  ]
  assert row.entity_ids.tolist() == [2] * 6
  assert row.source == (0, 1, 2, 3, 4)
  assert row.labels is not None and row.labels.tolist() == [0, 0, 1, 0, 1]
  room = {"labels": Room(task.label_shape(task.sizes), IGNORED)}
  labels = padded([row], task.sizes, 1, 0, names=(), extra=room)["labels"]
  assert labels.shape == (1, 127) and (labels[0, 5:] == -100).all()


def test_a_question_to_answer_has_no_labels():
  task = ClozeAnswering()
  assert task.features(processor(task), [example()])[0].labels is None


def test_a_sign_that_a_candidate_overlaps_stays_text():
  task = ClozeAnswering()
  reader = processor(task)
  (row,) = task.features(reader, [example("an @highlights and @highlight", [(20, 29)])])
  assert "[HIGHLIGHT]" not in words(reader, row)
  assert entity_texts(reader, row)[1] == "[ENTITY]highlight[ENTITY]"


def test_windows_hold_the_question_and_miss_no_candidate():
  text = "so it goes on and on. " * 60
  spans = [(22 * i, 22 * i + 2) for i in range(0, 8)] + [(22 * 58, 22 * 58 + 2)]
  task = ClozeAnswering(words=192, entities=5)
  reader = processor(task)
  rows = task.features(reader, [example(), example(text, spans), example()])
  assert [row.example for row in rows] == sorted(row.example for row in rows)
  long = [row for row in rows if row.example == 1]
  for row in long:
    assert len(row.input_ids) <= 192 and 2 <= len(row.entity_ids) <= 5
    assert words(reader, row).count("[PLACEHOLDER]") == 1
    told = entity_texts(reader, row)
    assert told[0] == "[PLACEHOLDER]" and set(told[1:]) <= {
      "[ENTITY]so[ENTITY]",
      "[ENTITY] so[ENTITY]",
    }
  assert [row.source for row in long[:2]] == [(0, 1, 2, 3), (4, 5, 6, 7)]
  assert set().union(*(row.source for row in long)) == set(range(9))
  # Between the first candidates and the last one there are windows with none.
  assert len(long) < len(text.split()) * 1.5 / 128 + 1


def test_a_question_that_leaves_no_room_is_a_fault():
  task = ClozeAnswering(words=40)
  examples = [example(), example(query="word " * 40 + "@placeholder"), example()]
  with pytest.raises(InputError, match=r"file: line 1: \d+ tokens of the query and .* at most 36"):
    task.features(processor(task), examples[1:])
  faults = Faults(skip=True)
  rows = task.features(processor(task), examples, faults)
  assert {row.example for row in rows} == {0, 2} and len(faults.found) == 1
  outputs = {"logits": [np.zeros(9)] * len(rows)}
  assert list(map(bool, task.decode(examples, rows, outputs))) == [True, False, True]


def test_a_model_of_another_task_is_refused():
  with pytest.raises(InputError, match=r"no word \[ENTITY\]; expected that of a cloze model"):
    ClozeAnswering().features(tiny_processor(), [example()])


def test_the_best_score_of_all_windows_counts():
  task = ClozeAnswering(words=40, entities=3)
  examples = [example(), example(TEXT, ENTITIES[:1])]
  rows = task.features(processor(task), examples)
  logits = [
    np.where(np.arange(len(row.source) + 2) < len(row.source), -3.0 - i, 99.0)
    for i, row in enumerate(rows)
  ]
  of_bob = next(i for i, row in enumerate(rows) if 3 in row.source)
  logits[of_bob][rows[of_bob].source.index(3)] = 0.0
  first, second = task.decode(examples, rows, {"logits": logits})
  assert first[0] == Answer("Oslo", 19, 23, 0.5)
  assert sorted((x.start, x.end) for x in first) == sorted(ENTITIES)
  assert all(TEXT[x.start : x.end] == x.text for x in first)
  assert [x.score for x in first] == sorted((x.score for x in first), reverse=True)
  assert [x.text for x in second] == ["Ana"]


def test_of_equal_scores_the_first_candidate_counts():
  task = ClozeAnswering()
  rows = task.features(processor(task), [example()])
  (answers,) = task.decode([example()], rows, {"logits": np.full((1, 127), -1000.0)})
  assert [(x.start, x.end) for x in answers] == ENTITIES
  assert {x.score for x in answers} == {0.0}


@given(st.data())
def test_every_candidate_is_scored_with_its_own_characters(data):
  """Labels fed back as scores give the answers, whatever stands where."""
  text = data.draw(st.text("ab .é@\n", min_size=1, max_size=60).filter(str.strip))
  text = text.replace("@", " @highlight ")
  ends = st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))
  ends = ends.map(lambda pair: (min(pair), min(max(pair), min(pair) + 30)))  # fits in a row
  spans = ends.filter(lambda span: text[slice(*span)].strip())
  entities = data.draw(st.lists(spans, min_size=1, max_size=6))
  answers = data.draw(st.lists(st.sampled_from(entities), min_size=1))
  task = ClozeAnswering(
    words=data.draw(st.integers(120, 300)), entities=data.draw(st.integers(2, 7))
  )
  kind = data.draw(st.sampled_from(["byte_level", "sentence_piece"]))
  one = example(text, entities, answers=answers)
  rows = task.features(processor(task, kind), [one])
  (found,) = task.decode([one], rows, {"logits": [np.float32(row.labels) for row in rows]})
  assert {(x.start, x.end) for x in found} == set(one.entities)
  best = {(x.start, x.end) for x in found if x.score > 0.6}
  assert best == set(one.answers or ())


PARTS = st.lists(
  st.sampled_from(["Ana", " ", "\n", "@highlight", "x"]), min_size=1, max_size=12
).map("".join)


def test_a_line_break_before_and_after():
  text = "It is.\n@highlight\nAna met Bob\n@highlight\nBob left"
  read, spans = highlighted(text, [(18, 21), (26, 29)])
  assert read == "It is.[HIGHLIGHT] Ana met Bob[HIGHLIGHT] Bob left"
  assert [read[slice(*span)] for span in spans] == ["Ana", "Bob"]


def test_a_stretch_without_a_space_is_read_twice_by_the_authors():
  text = "Ana's.\n@highlight\nBob left"
  assert highlighted(text, [(0, 3)])[0] == "Ana's.[HIGHLIGHT] Bob left"
  twice = "Ana's. @highlight Bob left[HIGHLIGHT] Bob left"
  assert highlighted(text, [(0, 3)], twice=True)[0] == twice


@given(PARTS, st.data())
def test_spans_keep_their_texts(text, data):
  edges = st.tuples(st.integers(0, len(text)), st.integers(0, len(text))).map(sorted)
  spans = [tuple(x) for x in data.draw(st.lists(edges, max_size=3)) if x[0] < x[1]]
  for twice in (False, True):
    read, moved = highlighted(text, spans, twice=twice)
    for before, after in zip(spans, moved, strict=True):
      assert read[slice(*after)] == text[slice(*before)].replace("\n", " ")
