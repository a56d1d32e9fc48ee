"""Both forms of file, and what is wrong in them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from marked_tasks import written

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.formats.records import to_json
from luke_jax.tasks.typing.files import TypingExample, parse, read

OPEN_ENTITY = {
  "sent": "Ana -LRB- -LSB- the -RSB- pilot -RRB- flew",
  "labels": ["person", "pilot", "person"],
  "start": 16,
  "end": 37,
}


def mention(example):
  return example.text[slice(*example.span)]


def fault(path):
  with pytest.raises(InputError) as raised:
    read(path, Faults())
  assert "\n" not in str(raised.value)
  return str(raised.value).replace(str(path), "FILE")


def test_characters_and_tokens_say_the_same(tmp_path):
  lines = [
    {"text": "Ana saw Bo .", "span": [0, 7], "labels": [], "meta": 3},
    {"id": "b", "tokens": ["Ana", "saw", "Bo", "."], "span": [0, 2]},
  ]
  path = written(tmp_path / "a.jsonl", lines)
  one, other = read(path, Faults())
  assert mention(one) == mention(other) == "Ana saw" and one.text == other.text
  assert (one.id, one.labels, other.id, other.labels) == ("1", (), "b", None)
  assert other.place == f"{path}: line 2"


def test_open_entity_has_brackets_for_their_codes(tmp_path):
  path = tmp_path / "train.json"
  path.write_text(json.dumps([OPEN_ENTITY]))
  (example,) = read(path, Faults())
  assert example.text == "Ana ( ( the ) pilot ) flew"
  assert mention(example) == "the ) pilot )"
  assert example.labels == ("person", "pilot") and example.place == f"{path}: example 1"


def test_a_mention_may_be_a_bracket(tmp_path):
  path = tmp_path / "train.json"
  path.write_text(json.dumps([{"sent": "-LCB- it -RCB-", "labels": [], "start": 9, "end": 14}]))
  (example,) = read(path, Faults())
  assert (example.text, mention(example)) == ("( it )", ")")


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)


@given(words, words, st.none() | st.lists(words, unique=True, max_size=3))
def test_what_is_written_is_read(before, inside, labels):
  span = (len(before), len(before + inside))
  example = TypingExample(
    "7", "here", before + inside, span, None if labels is None else tuple(labels)
  )
  value = json.loads(json.dumps(to_json(example)))
  assert parse(value, value["id"], "here") == example


GOOD = {"text": "Ana saw Bo .", "span": [0, 3], "labels": ["person"]}
BAD_LINES = {
  "span: missing; expected [start, end], characters of the text, or words that it has once": {
    "span": None
  },
  "span: [0, 13]; expected 0 <= start < end <= 12, characters": {"span": [0, 13]},
  "span: [0, True]; expected [start, end], characters of the text, or words that it has once": {
    "span": [0, True]
  },
  "label: no such field; expected perhaps labels": {"label": "person"},
  "labels: 'person'; expected a list": {"labels": "person"},
  "labels: ['']; expected strings that are not empty": {"labels": [""]},
  "id 'a': also that of line 1; expected it once": {"id": "a"},
}


@pytest.mark.parametrize("told", BAD_LINES)
def test_a_bad_line_is_told_by_its_number(told, tmp_path):
  lines = [{**GOOD, "id": "a"}, {**GOOD, **BAD_LINES[told]}]
  path = written(tmp_path / "a.jsonl", lines)
  assert fault(path) == f"FILE: line 2: {told}"
  faults = Faults(skip=True)
  assert [x.id for x in read(path, faults)] == ["a"] and len(faults.found) == 1


BAD_ITEMS = {
  "[5]": "FILE: example 1: expected an object with end, labels, sent, start",
  '[{"sent": "Ana", "start": 0, "end": 3}]': "FILE: example 1: expected an object with end, label",
  '[{"sent": 1, "start": 0, "end": 3, "labels": []}]': "FILE: example 1: sent: 1; expected a str",
  '[{"sent": "Ana", "start": 0, "end": 4, "labels": []}]': "FILE: example 1: span: [0, 4]; exp",
  "{}": "FILE: a dict; expected a list of examples",
  "[": "FILE: Expecting value: line 1 column 2",
}


@pytest.mark.parametrize("text", BAD_ITEMS)
def test_a_bad_item_of_open_entity_is_told_by_its_number(text, tmp_path):
  path = tmp_path / "a.json"
  path.write_text(text)
  assert fault(path).startswith(BAD_ITEMS[text])
