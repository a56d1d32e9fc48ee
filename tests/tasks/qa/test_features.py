"""Questions and passages as rows: windows, entities, labels, and the answers cut from them."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import tiny_processor

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.tasks.qa.features import (
  NOWHERE,
  WHOLE,
  PassageLimits,
  features,
  original,
  spaced_words,
)
from luke_jax.tasks.qa.files import EntityReference, QuestionExample
from luke_jax.tasks.qa.task import QuestionAnswering
from luke_jax.text import EntityVocab, RowEntity
from luke_jax.text.parts import TextWithEntities
from luke_jax.text.tokenizer import SPECIAL
from luke_jax.wiki.stages.tokens import TOKEN

LIMITS = PassageLimits(question_words=12, stride=8, answer_words=10)
TEXT = "Beyoncé lives in Los Angeles. Tokyo is far, and 東京 too."
TASK = QuestionAnswering(n_best=5, answer_words=40)


def processor(kind="byte_level", **sizes):
  return dataclasses.replace(tiny_processor(kind), **{"max_length": 40} | sizes)


def example(text=TEXT, question="Who lives?", answers=((0, 7),), **fields):
  return QuestionExample("a", "here", text, question, answers, **fields)


def told(processor, examples, limits=LIMITS):
  """What a model that knows the first answers says."""
  rows = features(processor, examples, limits, Faults())
  outputs = {"start_logits": [], "end_logits": []}
  for row in rows:
    for place, name in zip(row.labels, outputs, strict=True):
      logits = np.zeros(len(row.input_ids) + 3, np.float32)  # padded, as batches are
      logits[place], logits[len(row.input_ids) :] = 9, 99
      outputs[name].append(logits)
  return TASK.decode(examples, rows, outputs)


def test_a_row():
  chosen = processor(max_length=64)
  entities = (
    EntityReference(0, 7, "Beyoncé"),
    EntityReference(17, 28, "Los Angeles"),
    EntityReference(30, 35, "Nowhere"),
  )
  asked = (EntityReference(4, 9, "Tokyo"),)
  (row,) = features(
    chosen,
    [example(entities=entities, question_entities=asked)],
    LIMITS._replace(stride=20),
    Faults(),
  )
  decode_ids = chosen.tokenizer.decode
  assert decode_ids(row.input_ids) == f"<s>Who lives?</s></s>{TEXT}</s>"
  assert row.entity_ids.tolist() == [6, 5, 4]  # the question's first; "Nowhere" is left out
  assert [decode_ids(row.input_ids[a:b]) for a, b in row.entity_tokens] == [
    " lives",
    "Beyoncé",
    " Los Angeles",
  ]
  start, end = row.labels
  assert decode_ids(row.input_ids[start : end + 1]) == "Beyoncé"
  assert row.input_ids.dtype == np.int32


@pytest.mark.parametrize("kind", ["byte_level", "sentence_piece"])
def test_windows_hold_every_answer(kind):
  chosen = processor(kind, max_length=32)
  words = re.finditer(r"\S+", TEXT)
  examples = [example(answers=(word.span(),)) for word in words]
  rows = features(chosen, examples, LIMITS, Faults())
  assert len(rows) >= 2 * len(examples)
  assert max(len(row.input_ids) for row in rows) == 32
  assert {row.example for row in rows} == set(range(len(examples)))
  found = {row.example for row in rows if tuple(row.labels) != NOWHERE}
  assert found == set(range(len(examples)))
  for answers, asked in zip(told(chosen, examples), examples, strict=True):
    ((start, end),) = asked.answers
    assert answers[0].text == TEXT[start:end]
    assert answers[0][1:3] == (start, end)


@given(
  st.text("ab é東𝄞 \n.", max_size=24),
  st.lists(st.tuples(st.integers(0, 24), st.integers(1, 3)), min_size=1, max_size=3),
)
def test_answers_are_cut_from_the_text(text, spans):
  """Whatever the characters: the labelled answer comes back, but for what its tokens add."""
  spans = [(a, min(a + n, len(text))) for a, n in spans]
  spans = [(a, b) for a, b in spans if a < b and text[a:b].strip()]
  entities = tuple(EntityReference(*span, "Tokyo") for span in spans[1:])
  asked = example(text, answers=tuple(spans[:1]), entities=entities)
  ((best, *others),) = told(processor(), [asked], LIMITS._replace(answer_words=14))
  for answer in (best, *others):
    assert text[answer.start : answer.end] == answer.text == answer.text.strip()
  if spans:
    start, end = spans[0]
    words = [x.span() for x in TOKEN.finditer(text) if x.start() < end and start < x.end()]
    if text[words[0][0] : words[-1][1]].strip() == text[start:end].strip():  # no part of a word
      assert text[start:end].strip() in best.text


def test_only_the_first_answer_trains():
  (row,) = features(
    processor(max_length=64),
    [example(answers=((30, 35), (0, 7)))],
    LIMITS._replace(stride=20),
    Faults(),
  )
  start, end = row.labels
  assert processor().tokenizer.decode(row.input_ids[start : end + 1]) == " Tokyo"


def test_no_answer_and_nothing_known():
  none, unknown = features(
    processor(max_length=64),
    [example(answers=()), example(answers=None)],
    LIMITS._replace(stride=20),
    Faults(),
  )
  assert tuple(none.labels) == NOWHERE
  assert unknown.labels is None


def test_an_empty_passage():
  asked = example("", answers=())
  (row,) = features(processor(), [asked], LIMITS, Faults())
  assert processor().tokenizer.decode(row.input_ids) == "<s>Who lives?</s></s></s>"
  ((answer,),) = told(processor(), [asked])
  assert answer == ("", 0, 0, 1.0)


def test_long_questions_are_cut_and_counted():
  long = "Who of them all lives in Los Angeles?"
  links = (EntityReference(0, 3, "Tokyo"), EntityReference(25, 36, "Los Angeles"))
  examples = [example(), example(question=long, question_entities=links), example(question=long)]
  with pytest.warns(UserWarning, match="2 questions are cut: longer than 12 pieces"):
    rows = features(processor(), examples, LIMITS, Faults())
  second = next(row for row in rows if row.example == 1)
  read = processor().tokenizer.decode(second.input_ids).split("</s>")[0].removeprefix("<s>")
  assert long.startswith(read)
  assert len(processor().tokenizer.encode([read])[0].ids) == 12
  assert second.entity_ids.tolist() == [6]


def test_whole_questions_are_read_or_refused():
  long = "Who of them all lives in Los Angeles?"
  limits = LIMITS._replace(question_words=WHOLE)
  (row,) = features(processor(max_length=64), [example(question=long)], limits, Faults())
  assert long in processor().tokenizer.decode(row.input_ids)
  asked = [example(question=long), example()]
  with pytest.raises(InputError, match=r"question: \d+ word pieces; expected at most 8"):
    features(processor(max_length=20), asked, limits, Faults())
  rows = features(processor(max_length=20), asked, limits, faults := Faults(skip=True))
  assert {row.example for row in rows} == {1} and len(faults.found) == 1


def test_short_rows_are_shared_by_question_and_passage():
  """However short they are, half of them and more is the passage's."""
  question = "Who of them all lives in Los Angeles?"
  with pytest.warns(UserWarning, match="1 questions are cut: longer than 8 pieces"):
    rows = features(
      processor(max_length=20), [example(question=question)], PassageLimits(64, 128, 4), Faults()
    )
  assert {row.source.place for row in rows} == {8 + 3}
  starts = [row.source.start for row in rows]
  assert max(np.diff(starts)) == 8 - 4 + 1


def test_answers_that_cannot_be_found_are_counted():
  examples = [example(answers=((0, len(TEXT)),)), example(), example(answers=())]
  with pytest.warns(
    UserWarning, match="1 answers cannot be found: longer than task.answer_words, 10 pieces"
  ):
    features(processor(), examples, LIMITS, Faults())


def test_titles_of_several_languages_say_theirs():
  """As mLUKE's do: `de:Tokio`."""
  special = {title: id for id, title in enumerate(SPECIAL)}
  vocab = EntityVocab(special | {"de:Tokio": 4, "en:Tokyo": 4}, multilingual=True)
  chosen = processor(entity_vocab=vocab, max_length=64)
  links = (EntityReference(30, 35, "de:Tokio"), EntityReference(0, 7, "de:Beyoncé"))
  rows = features(chosen, [example(entities=links)], LIMITS._replace(stride=40), Faults())
  assert [row.entity_ids.tolist() for row in rows] == [[4]]
  with pytest.raises(InputError, match="here: entity 'Tokio': in no language; expected one of de"):
    features(chosen, [example(entities=(EntityReference(30, 35, "Tokio"),))], LIMITS, Faults())


def test_more_entities_than_a_row_holds():
  chosen = processor(max_length=64, max_entity_length=3)
  spans = [match.span() for match in re.finditer(r"\w+", TEXT)]
  entities = tuple(EntityReference(*span, "Tokyo") for span in spans)
  asked = example(entities=entities, question_entities=(EntityReference(0, 3, "Beyoncé"),))
  rows = features(chosen, [asked], LIMITS._replace(stride=20), Faults())
  assert len(rows) == 6  # eleven entities, two beside the question's
  assert [row.entity_ids[0] for row in rows] == [5] * 6
  assert sum(len(row.entity_ids) - 1 for row in rows) == len(spans)
  assert told(chosen, [asked], LIMITS._replace(stride=20))[0][0].text == "Beyoncé"
  full = dataclasses.replace(asked, question_entities=(EntityReference(0, 3, "Tokyo"),) * 3)
  with pytest.raises(InputError, match=r"here: 3 question_entities; expected fewer than .* 3"):
    features(chosen, [full], LIMITS, Faults())
  skipped = Faults(skip=True)
  left = features(chosen, [full, asked], LIMITS._replace(stride=20), skipped)
  assert {row.example for row in left} == {1} and len(skipped.found) == 1


def test_a_passage_is_tokenized_once(monkeypatch):
  chosen, seen = processor(max_length=64), []
  encode = chosen.tokenizer.encode

  def counted(texts, **options):
    seen.extend(texts)
    return encode(texts, **options)

  monkeypatch.setattr(chosen.tokenizer, "encode", counted)
  linked = example(entities=(EntityReference(0, 7, "Beyoncé"),))
  examples = [example(), example(question="Else?", answers=()), linked]
  rows = features(chosen, examples, LIMITS._replace(stride=20), Faults())
  assert seen.count(TEXT) == 1
  assert rows[0].source.offsets is rows[1].source.offsets
  assert [len(row.entity_ids) for row in rows] == [0, 0, 1]


TEXTS = st.text("ab \t\n\u202f\u00a0", max_size=30)


def spaced(text, *spans):
  entities = [RowEntity(2, (0, 0), span, 0, i) for i, span in enumerate(spans)]
  return spaced_words(TextWithEntities(text, entities, ""))


@given(TEXTS)
def test_every_character_comes_from_its_own(text):
  read, places = spaced(text)
  assert read.text.split(" ")[1:] == [x for x in text.translate(WHITE).split(" ") if x]
  inked = [i for i, character in enumerate(read.text) if character != " "]
  assert [text[places[i]] for i in inked] == [read.text[i] for i in inked]
  offsets = np.array([(i, i + 1) for i in inked], np.int32).reshape(-1, 2)
  assert [text[a:b] for a, b in original(offsets, places)] == [read.text[i] for i in inked]


WHITE = str.maketrans("\t\n\u202f", "   ")


def test_entities_keep_their_words():
  text = "  Ana\n\nof  Rome."
  read, _ = spaced(text, (2, 5), (7, 15))
  assert read.text == " Ana of Rome."
  assert [read.text[slice(*x.characters)] for x in read.entities] == ["Ana", "of Rome"]
