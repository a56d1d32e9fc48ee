from dataclasses import replace

import numpy as np
import pytest

from luke_jax.errors import InputError
from luke_jax.text import EntityVocab, Processor, TextInput
from luke_jax.text.rows import UNKNOWN, Widths

TEXT = "Beyoncé lives in Los Angeles."
NAMES = [(0, 7), (17, 28)]
PLACES = "Tokyo and Los Angeles"


def test_one_text(processor):
  inputs = processor(TEXT, entity_spans=NAMES)
  assert {name: array.shape[:2] for name, array in inputs.items()} == {
    "input_ids": inputs["input_ids"].shape,
    "attention_mask": inputs["input_ids"].shape,
    "entity_ids": (1, 2),
    "entity_attention_mask": (1, 2),
    "entity_position_ids": (1, 2),
  }
  assert all(array.dtype == np.int32 for array in inputs.values())
  for positions, (start, end) in zip(inputs["entity_position_ids"][0], NAMES, strict=True):
    ids = inputs["input_ids"][0][positions[positions >= 0]]
    assert processor.tokenizer.decode(ids).strip() == TEXT[start:end]


def test_no_entities_no_entity_arrays(processor):
  assert set(processor(TEXT)) == {"input_ids", "attention_mask"}
  assert processor(TEXT, entity_spans=[])["entity_ids"].shape == (1, 0)


def test_a_batch_equals_its_texts_alone(processor):
  texts, spans = [TEXT, PLACES, ""], [NAMES, [(0, 5)], []]
  inputs = processor(texts, entity_spans=spans)
  for row, (text, given) in enumerate(zip(texts, spans, strict=True)):
    for name, array in processor(text, entity_spans=given).items():
      part = inputs[name][row][: array.shape[1]]
      assert (part == array[0]).all(), name


def test_padding(processor):
  inputs = processor([TEXT, ""], entity_spans=[NAMES, []], word_lengths=64, entity_lengths=4)
  assert inputs["input_ids"].shape == (2, 64)
  assert inputs["input_ids"][1].tolist() == [0, 2] + [1] * 62
  assert inputs["attention_mask"].sum(1).tolist()[1] == 2
  assert inputs["entity_ids"].tolist() == [[2, 2, 0, 0], [0, 0, 0, 0]]
  assert inputs["entity_attention_mask"].tolist() == [[1, 1, 0, 0], [0, 0, 0, 0]]
  assert (inputs["entity_position_ids"][1] == -1).all()
  assert inputs["entity_position_ids"].shape == (2, 4, 30)


def test_padding_to_one_of_some_lengths(processor):
  assert processor(TEXT)["input_ids"].shape == (1, 15)
  for lengths, width in (((8, 64, 32), 32), (range(8, 65, 8), 16), (15, 15)):
    assert processor(TEXT, word_lengths=lengths)["input_ids"].shape == (1, width)
  with pytest.raises(InputError, match="row 1: 15 tokens; expected at most 12"):
    processor(["", TEXT], word_lengths=(8, 12))
  with pytest.raises(InputError, match="row 0: 2 entities; expected at most 1"):
    processor(TEXT, entity_spans=NAMES, entity_lengths=1)


def test_a_models_processor_pads_to_a_few_lengths(processor):
  few = replace(processor, widths=Widths((8, 20), (1, 2, 16)), max_length=100)

  def shapes(text, **options):
    inputs = few(text, **options)
    return inputs["input_ids"].shape[1], inputs.get("entity_ids", np.zeros((1, 0))).shape[1]

  assert shapes(TEXT) == (20, 0) and shapes("a") == (8, 0)
  assert shapes(TEXT, entity_spans=NAMES) == (20, 2) and shapes(TEXT, entity_spans=[]) == (20, 0)
  assert shapes(TEXT, entity_spans=[NAMES[0]] * 3) == (20, 16)
  assert shapes(TEXT, entity_spans=NAMES, padding="longest") == (15, 2)
  assert shapes(TEXT, word_lengths=16, entity_spans=NAMES, entity_lengths=4) == (16, 4)
  assert shapes("a " * 30) == (40, 0) and shapes("a " * 60) == (80, 0)
  assert shapes("a " * 90) == (100, 0)  # what the model has room for
  assert shapes(TEXT, entity_spans=[NAMES[0]] * 20) == (20, 32)
  (row,) = few.encode([TextInput(TEXT)])
  assert few.pad([row])["input_ids"].shape == (1, 15)
  with pytest.raises(InputError, match="padding: 'max_length'; expected 'longest', or lengths"):
    few(TEXT, padding="max_length")


@pytest.mark.parametrize("lengths", ["64", 64.0, True, -1, (32, "64"), {64}])
def test_faulty_lengths_to_pad_to(processor, lengths):
  with pytest.raises(InputError, match=r"length of tokens to pad to: .*; expected a whole"):
    processor(TEXT, word_lengths=lengths)


def test_lengths_of_numpy_are_lengths_too(processor):
  numbers = np.array([8, 32])
  assert processor(TEXT, word_lengths=numbers)["input_ids"].shape == (1, 32)
  assert type(replace(processor, max_length=numbers[1]).max_length) is int


def test_pads_are_those_of_the_vocabularies(byte_level):
  lite = EntityVocab({"[MASK]": 0, "[UNK]": 1, "[PAD]": 2, "[MASK2]": 3})
  inputs = Processor(byte_level, lite)([TEXT, ""], entity_spans=[NAMES, []])
  assert inputs["entity_ids"].tolist() == [[0, 0], [2, 2]]
  assert inputs["entity_attention_mask"].tolist() == [[1, 1], [0, 0]]


def test_titles(processor):
  titles = ["Los Angeles", "nobody", "[PAD]", "Tokyo"]
  inputs = processor(TEXT, entity_spans=[*NAMES, *NAMES], entities=titles)
  assert inputs["entity_ids"].tolist() == [[4, 1, 0, 5]]


def test_titles_with_languages(sentence_piece, multilingual_vocab):
  processor = Processor(sentence_piece, multilingual_vocab)
  titles = ["en:Tokyo", "en:Star Trek: Picard"]
  assert processor(TEXT, entity_spans=NAMES, entities=titles)["entity_ids"].tolist() == [[5, 6]]
  english = replace(processor, language="en")
  titles = ["Star Trek: Picard", "[MASK2]"]
  assert english(TEXT, entity_spans=NAMES, entities=titles)["entity_ids"].tolist() == [[6, 3]]


@pytest.mark.parametrize("title", ["Kyoto", "Star Trek: Voyager", "de:Tokio", ": a", ""])
def test_titles_in_no_language(sentence_piece, multilingual_vocab, title):
  processor = Processor(sentence_piece, multilingual_vocab)
  with pytest.raises(InputError) as error:
    processor(TEXT, entity_spans=[(0, 7)], entities=[title])
  assert str(error.value) == (
    f"entity {title!r}: in no language; expected one of en, ja before a colon, or as the"
    " processor's language"
  )
  english = replace(processor, language="en")
  assert english(TEXT, entity_spans=[(0, 7)], entities=[title])["entity_ids"].tolist() == [[1]]


def test_a_colon_needs_no_language_where_titles_have_none(processor):
  inputs = processor(TEXT, entity_spans=[(0, 7)], entities=["Star Trek: Voyager"])
  assert inputs["entity_ids"].tolist() == [[1]]


def test_entities_of_the_second_text_alone_are_kept(processor):
  # transformers 4.57 drops them without a word when the first text has none.
  inputs = processor("Where?", PLACES, entity_spans_pair=[(0, 5)])
  positions = inputs["entity_position_ids"][0, 0]
  ids = inputs["input_ids"][0][positions[positions >= 0]]
  assert processor.tokenizer.decode(ids) == "Tokyo"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_markers_of_head_and_tail(processor, order):
  pair = replace(processor, task="entity_pair_classification")
  inputs = pair(TEXT, entity_spans=[NAMES[i] for i in order])
  head, tail = ("<ent>", "<ent2>") if order == (0, 1) else ("<ent2>", "<ent>")
  assert processor.tokenizer.decode(inputs["input_ids"][0]) == (
    f"<s>{head}Beyoncé{head} lives in{tail} Los Angeles{tail}.</s>"
  )
  assert inputs["entity_ids"].tolist() == [[2, 3]]
  for positions, marker in zip(inputs["entity_position_ids"][0], (600, 601), strict=True):
    ids = inputs["input_ids"][0][positions[positions >= 0]]
    assert (ids[0], ids[-1]) == (marker, marker)


def test_mentions_longer_than_the_model_is_told(byte_level, vocab):
  processor = Processor(byte_level, vocab, max_mention_length=3)
  positions = processor(TEXT, entity_spans=[(0, 28)])["entity_position_ids"]
  assert positions.tolist() == [[[1, 2, 3]]]


def test_rows_know_where_they_come_from(processor):
  examples = [TextInput(TEXT, NAMES), TextInput("Who?", [(0, 3)], None, PLACES, [(10, 21)])]
  for row in processor.encode(examples, offsets=True):
    example = examples[row.example]
    texts = [example.text, example.text_pair]
    ends = [*(start - 2 for start in row.text_starts[1:]), len(row.input_ids) - 1]
    for text, start, end in zip(texts, row.text_starts, ends, strict=False):
      assert text.replace(" ", "") == "".join(text[a:b] for a, b in row.offsets[start:end])
    for entity in row.entities:
      first, last = row.offsets[entity.tokens[0]][0], row.offsets[entity.tokens[1] - 1][1]
      assert (first, last) == entity.characters
    assert row.offsets[0] == row.offsets[-1] == (-1, -1)
  assert [entity.number for entity in row.entities] == [0, 1]
  assert [entity.text for entity in row.entities] == [0, 1]
  assert processor.encode(examples)[0].offsets == []
  assert processor.windows(examples, offsets=False)[0].offsets == []


def test_a_labelled_row_is_padded_as_before_without_its_origin(processor):
  (row,) = processor.windows([TextInput("Who?", [(0, 3)], None, PLACES, [(10, 21)])])
  labelled = row.labelled(np.array(1), source="a")
  assert (labelled.labels, labelled.source, labelled.origin) == (1, "a", UNKNOWN)
  both = [replace(processor, token_types=True).pad([x]) for x in (row, labelled)]
  assert both[0]["token_type_ids"].sum() > 0
  first, second = ({name: x.tolist() for name, x in arrays.items()} for arrays in both)
  assert first == second


def test_too_long_is_refused(processor):
  short = replace(processor, max_length=12)
  with pytest.raises(InputError, match=r"^example 1: \d+ tokens; expected at most max_length 12"):
    short(["", TEXT])
  few = replace(processor, max_entity_length=1)
  with pytest.raises(InputError, match="example 0: 2 entities; expected at most max_entity_length"):
    few(TEXT, entity_spans=NAMES)


def test_truncation_reports_what_it_drops(processor):
  short = replace(processor, max_length=8, max_entity_length=1)
  spans = [(17, 28), (0, 1), (1, 2)]
  (row,) = short.encode([TextInput(TEXT, spans)], truncation=True)
  assert len(row.input_ids) == 8
  assert [entity.number for entity in row.entities] == [1]
  assert row.dropped == [0, 2]
  (whole,) = processor.encode([TextInput(TEXT, spans)], truncation=True)
  assert whole.dropped == []


def test_truncation_keeps_what_a_task_is_about(processor):
  task = replace(processor, task="entity_classification", max_length=8)
  with pytest.raises(InputError, match="example 0: an entity lies after the 8 tokens"):
    task.encode([TextInput(TEXT, [(17, 28)])], truncation=True)


def test_windows(processor):
  text = " ".join(f"Tokyo {number} lives" for number in range(40))
  spans = [(i, i + 5) for i in range(len(text)) if text.startswith("Tokyo", i)]
  short = replace(processor, max_length=32, max_entity_length=3)
  rows = short.windows([TextInput("x", [(0, 1)]), TextInput(text, spans)], stride=16)
  assert rows[0].example == 0
  assert rows[0].input_ids.tolist() == processor.encode([TextInput("x")])[0].input_ids.tolist()
  found = set()
  for row in rows[1:]:
    assert row.example == 1
    assert len(row.input_ids) <= 32
    assert len(row.entities) <= 3
    assert row.dropped == []
    for entity in row.entities:
      found.add(entity.number)
      first, last = row.offsets[entity.tokens[0]][0], row.offsets[entity.tokens[1] - 1][1]
      assert (first, last) == entity.characters == spans[entity.number]
      assert text[first:last] == "Tokyo"
  assert found == set(range(40))
  assert short.pad(rows, word_lengths=32, entity_lengths=3)["entity_ids"].shape == (len(rows), 3)


def test_windows_of_the_second_text(processor):
  short = replace(processor, max_length=24)
  question = TextInput("Who?", [(0, 3)], None, PLACES * 5, [(0, 5)])
  rows = short.windows([question], stride=4)
  assert len(rows) > 2
  for row in rows:
    start = row.text_starts[1]
    assert row.input_ids[:start].tolist() == rows[0].input_ids[:start].tolist()
    assert row.entities[0].number == 0
  assert [len(row.entities) for row in rows] == [2] + [1] * (len(rows) - 1)


def test_windows_report_an_entity_longer_than_each(processor):
  short = replace(processor, max_length=8)
  rows = short.windows([TextInput(TEXT, [(0, 28), (17, 18)])], stride=4)
  assert all(row.dropped == [0] for row in rows)
  assert any(row.entities for row in rows)


def test_windows_of_a_task_with_markers(processor):
  task = replace(processor, task="entity_pair_classification", max_length=30)
  text = "word " * 50 + TEXT + " word" * 50
  (row,) = task.windows([TextInput(text, [(267, 278), (250, 257)])])
  assert len(row.input_ids) == 30
  decoded = processor.tokenizer.decode(row.input_ids)
  assert "<ent2> Beyoncé<ent2> lives in<ent> Los Angeles<ent>" in decoded
  with pytest.raises(InputError, match="example 0: its entities span"):
    task.windows([TextInput(text, [(0, 4), (250, 257)])])


def test_windows_without_room(processor):
  short = replace(processor, max_length=10)
  with pytest.raises(InputError, match="example 0: the first text leaves room for"):
    short.windows([TextInput(TEXT, text_pair=PLACES)])


@pytest.mark.parametrize("stride", [0, -1, "8", 8.0, True, None, 10**9])
def test_faulty_strides(processor, stride):
  with pytest.raises(InputError) as error:
    processor.windows([TextInput(TEXT)], stride=stride)
  assert str(error.value) == f"stride: {stride!r}; expected a whole number from 1 to 1000000"


@pytest.mark.parametrize("examples", [TEXT, TextInput(TEXT), None, (e for e in [TextInput(TEXT)])])
def test_examples_that_are_no_list(processor, examples):
  for read in (processor.encode, processor.windows):
    with pytest.raises(InputError, match=r"examples: a \w+; expected a list of TextInput"):
      read(examples)


@pytest.mark.parametrize(
  ("settings", "message"),
  [
    ({"task": "typing"}, "task 'typing'; expected None or one of entity_classification"),
    ({"max_length": 4}, "max_length: 4; expected a whole number from 5 to 1000000"),
    ({"max_length": "512"}, "max_length: '512'; expected a whole number from 5"),
    ({"max_length": 10**7}, "max_length: 10000000; expected a whole number from 5"),
    ({"max_entity_length": 0}, "max_entity_length: 0; expected a whole number from 1"),
    ({"max_entity_length": 32.0}, "max_entity_length: 32.0; expected a whole number from 1"),
    ({"max_mention_length": 0}, "max_mention_length: 0; expected a whole number from 1"),
    ({"max_mention_length": True}, "max_mention_length: True; expected a whole number from 1"),
    ({"max_mention_length": None}, "max_mention_length: None; expected a whole number from 1"),
    ({"language": "en"}, "language 'en'; expected none"),
    ({"language": ["en"]}, "language ['en']; expected none"),
    ({"entity_vocab": {"[PAD]": 0}}, "entity_vocab: a dict; expected an EntityVocab"),
  ],
)
def test_faulty_settings(processor, settings, message):
  with pytest.raises(InputError) as error:
    replace(processor, **settings)
  assert message in str(error.value)


def test_a_pair_needs_a_second_mask(byte_level):
  three = EntityVocab({"[PAD]": 0, "[UNK]": 1, "[MASK]": 2})
  with pytest.raises(InputError, match=r"no \[MASK2\]"):
    Processor(byte_level, three, "entity_pair_classification")


PAIR, SINGLE, SPANS = (
  "entity_pair_classification",
  "entity_classification",
  "entity_span_classification",
)


@pytest.mark.parametrize(
  ("task", "given", "message"),
  [
    (None, {"entity_spans": [(3, 2)]}, "example 0: span 0 is (3, 2); expected"),
    (None, {"entity_spans": [(0, 99)]}, "example 0: span 0 is (0, 99)"),
    (None, {"entity_spans": (3, 5)}, "example 0: span 0 is 3; expected two whole numbers"),
    (None, {"entity_spans": [NAMES]}, "example 0: span 0 is [(0, 7), (17, 28)]; expected two"),
    (None, {"entity_spans": "07"}, "example 0: span 0 is '0'; expected two whole numbers"),
    (None, {"entity_spans": np.array(3)}, "example 0: spans are array(3); expected a list"),
    # transformers 4.57 makes an entity without positions of it.
    (None, {"entity_spans": [(7, 8)]}, "example 0: span (7, 8) holds no token"),
    (None, {"entity_spans": NAMES, "entities": ["a"]}, "example 0: 1 entities and 2 entity spans"),
    (None, {"entities": ["a"]}, "example 0: 1 entities and 0 entity spans"),
    (None, {"entity_spans": NAMES, "entities": "ab"}, "entities are 'ab'; expected a list"),
    (None, {"entity_spans": NAMES, "entities": [1, 2]}, "expected a list of titles"),
    (None, {"entity_spans": NAMES, "entities": 2}, "entities are 2; expected a list of titles"),
    (None, {"entity_spans": 2}, "example 0: spans are 2; expected a list of (start, end)"),
    (SINGLE, {"entity_spans": 2}, "example 0: no entity spans; expected 1"),
    (None, {"entity_spans_pair": NAMES}, "example 0: entities of a second text; expected a"),
    (None, {"text_pair": "x", "entity_spans_pair": [(0, 2)]}, "example 0, text_pair: span 0 is"),
    (None, {"text": None}, "text: None; expected a list, or one string as text"),
    (None, {"text": 3}, "text: 3; expected a list, or one string as text"),
    (None, {"text": "a\ud800"}, "example 0: half a surrogate pair at character 1"),
    (None, {"text_pair": 3}, "example 0, text_pair: text of type int; expected a string"),
    (None, {"text": ["a", 3]}, "example 1: text of type int; expected a string"),
    (None, {"text": ["a", "b"], "entity_spans": [[]]}, "entity_spans: 1 for 2 texts"),
    (None, {"text": ["a", "b"], "text_pair": "cd"}, "text_pair: 'cd'; expected a list"),
    (None, {"text": ["a", "b"], "entity_spans": [[], [(0, 2)]]}, "example 1: span 0 is (0, 2)"),
    (SINGLE, {"entity_spans": NAMES}, "example 0: 2 entity spans; expected 1 for task entity_c"),
    (SINGLE, {}, "example 0: no entity spans; expected 1"),
    # transformers 4.57 ignores both arguments for a task.
    (SINGLE, {"entity_spans": [(0, 1)], "entities": ["a"]}, "a text_pair or entities; expected"),
    (SINGLE, {"entity_spans": [(0, 1)], "text_pair": "a"}, "a text_pair or entities; expected"),
    (PAIR, {"entity_spans": [(0, 1)]}, "1 entity spans; expected 2 for task entity_pair"),
    (PAIR, {"entity_spans": [(0, 3), (2, 5)]}, "head (0, 3) overlaps tail (2, 5)"),
    (PAIR, {"entity_spans": [(0, 3), (0, 3)]}, "head (0, 3) overlaps tail (0, 3)"),
    (SPANS, {}, "example 0: no entity spans; expected a list of them"),
  ],
)
def test_what_is_refused(processor, task, given, message):
  with pytest.raises(InputError) as error:
    replace(processor, task=task)(**({"text": TEXT} | given))
  assert message in str(error.value)
  assert "\n" not in str(error.value)
