"""What holds for every text, span and window."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.errors import InputError
from luke_jax.text import EntityVocab, Processor, TextInput

CHUNKS = [
  "Beyoncé",
  " ",
  "  ",
  "\n",
  "\u00a0",
  "東京",
  "👩‍👩‍👧",
  "e\u0301",
  "שלום",
  "ﬁ",
  "\u200b",
  "½",
]
SPECIAL = ["<mask>", "<ent>", "<s>", " <mask>"]
PLAIN = st.lists(st.sampled_from(CHUNKS) | st.text(max_size=8), max_size=12).map("".join)
TEXTS = st.lists(st.sampled_from(CHUNKS + SPECIAL) | PLAIN, max_size=6).map("".join)


def spans_of(text, data, most):
  ends = st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))
  spans = ends.map(sorted).filter(lambda span: span[0] < span[1]).map(tuple)
  return data.draw(st.lists(spans, max_size=most if text else 0))


@pytest.fixture(scope="module", params=["byte_level", "sentence_piece"])
def tokenizer(request):
  """The kinds that leave out no visible character; test_word_piece.py has the other."""
  return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def luke(tokenizer):
  vocab = EntityVocab({"[PAD]": 0, "[UNK]": 1, "[MASK]": 2, "[MASK2]": 3})
  return Processor(tokenizer, vocab, max_entity_length=20)


@given(text=PLAIN)
def test_bytes_decode_to_the_text(byte_level, text):
  assert byte_level.decode(byte_level.encode([text])[0].ids) == text


@given(text=TEXTS)
def test_offsets_are_in_order_and_inside(tokenizer, text):
  (tokens,) = tokenizer.encode([text], offsets=True)
  assert len(tokens.ids) == len(tokens.offsets)
  assert tokens.ids == tokenizer.encode([text])[0].ids
  assert all(0 <= start <= end <= len(text) for start, end in tokens.offsets)
  assert tokens.offsets == sorted(tokens.offsets)
  assert all(0 <= id < tokenizer.vocab_size for id in tokens.ids)


@given(text=TEXTS)
def test_offsets_slice_to_the_text_of_a_token(byte_level, text):
  (tokens,) = byte_level.encode([text], offsets=True)
  for id, (start, end) in zip(tokens.ids, tokens.offsets, strict=True):
    token = byte_level.decode([id])
    if "\ufffd" not in token:  # a token may be a part of a character's bytes
      assert text[start:end] == (token.removeprefix(" ") if token.strip() else token)


@given(text=TEXTS)
def test_offsets_miss_no_character(byte_level, text):
  (tokens,) = byte_level.encode([text], offsets=True)
  covered = {i for start, end in tokens.offsets for i in range(start, end)}
  assert all(text[i].isspace() for i in set(range(len(text))) - covered)


@given(text=TEXTS, data=st.data())
def test_tokens_of_an_entity_are_its_characters(luke, text, data):
  spans = spans_of(text, data, most=6)
  try:
    (row,) = luke.encode([TextInput(text, spans)], offsets=True)
  except InputError as error:
    assert "holds no token" in str(error)
    return
  assert [entity.characters for entity in row.entities] == spans
  for entity in row.entities:
    offsets = row.offsets[slice(*entity.tokens)]
    found = text[offsets[0][0] : offsets[-1][1]]
    # White space at its ends may be nobody's; SentencePiece leaves out what has no width too, and
    # reads its own sign of a space as one.
    invisible = str.maketrans("", "", "\u200b\ufeff\u2581")
    assert (
      found.translate(invisible).strip()
      == text[slice(*entity.characters)].translate(invisible).strip()
    )


@given(text=TEXTS, data=st.data())
def test_every_task_reads_every_text(luke, text, data):
  spans = spans_of(text, data, most=3)
  for task in (None, "entity_span_classification", "entity_classification"):
    try:
      inputs = replace(luke, task=task)(text, entity_spans=spans)
    except InputError:
      continue
    for positions in inputs["entity_position_ids"][0]:
      assert (positions >= 0).sum() > 0
      assert positions.max() < inputs["attention_mask"].sum()


@given(text=TEXTS, stride=st.integers(1, 12), data=st.data())
def test_windows_miss_nothing(luke, text, stride, data):
  spans = spans_of(text, data, most=6)
  short = replace(luke, max_length=10, max_entity_length=2)
  try:
    (whole,) = luke.encode([TextInput(text, spans)], offsets=True)
  except InputError:
    return
  rows = short.windows([TextInput(text, spans)], stride=stride)
  assert all(len(row.input_ids) <= 10 and len(row.entities) <= 2 for row in rows)
  assert {span for row in rows for span in row.offsets} == set(whole.offsets)
  shown = {entity.number for row in rows for entity in row.entities}
  fitting = {e.number for e in whole.entities if e.tokens[1] - e.tokens[0] <= 8}
  assert shown == fitting
  assert all(row.dropped == sorted(set(range(len(spans))) - fitting) for row in rows)
  ids_of = {e.number: list(whole.input_ids[slice(*e.tokens)]) for e in whole.entities}
  for row in rows:
    for entity in row.entities:
      assert row.input_ids[slice(*entity.tokens)].tolist() == ids_of[entity.number]
