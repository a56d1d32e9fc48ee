"""Cloze questions in JSON lines and as ReCoRD has them."""

import json

import pytest

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.formats.records import to_json
from luke_jax.tasks.cloze.files import ClozeExample, parse, read

LINE = {
  "id": "a",
  "text": "Ana met Bob in Oslo.",
  "query": "@placeholder was there.",
  "entities": [[0, 3], [8, 11], [15, 19]],
  "answers": [[0, 3], [8, 11]],
}
RECORD = {
  "version": "1.0",
  "data": [
    {
      "id": "p1",
      "passage": {
        "text": "Ana met Bob.\n@highlight\nBob is 9",
        "entities": [{"start": 0, "end": 2}, {"start": 8, "end": 10}, {"start": 24, "end": 26}],
      },
      "qas": [
        {
          "id": "q1",
          "query": "A boy, @placeholder, is 9",
          "answers": [{"start": 8, "end": 10, "text": "Bob"}, {"start": 24, "end": 26}],
        },
        {"id": "q2", "query": "@placeholder met him"},
      ],
    }
  ],
}


def lines(tmp_path, *values):
  path = tmp_path / "file.jsonl"
  path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
  return path


def record(tmp_path, change):
  value = json.loads(json.dumps(RECORD))
  change(value["data"][0])
  path = tmp_path / "record.json"
  path.write_text(json.dumps(value), encoding="utf-8")
  return path


def test_json_lines(tmp_path):
  tokens = {"tokens": ["Ana", "met", "Bob"], "query": "@placeholder", "entities": [[0, 1], [2, 3]]}
  one, other = read(lines(tmp_path, LINE, tokens), Faults())
  assert one.place == f"{tmp_path / 'file.jsonl'}: line 1" and to_json(one) == LINE
  entities = ((0, 3), (8, 11))
  place = f"{tmp_path / 'file.jsonl'}: line 2"
  assert other == ClozeExample("2", place, "Ana met Bob", "@placeholder", entities, None)
  assert parse(to_json(other), "2", place) == other


def test_a_candidate_given_twice_is_one():
  example = parse(LINE | {"entities": [[0, 3], [8, 11], [0, 3]]}, "a", "here")
  assert example.entities == ((0, 3), (8, 11))


def test_record(tmp_path):
  path = record(tmp_path, lambda item: None)
  first, second = read(path, Faults())
  assert (first.id, second.id) == ("q1", "q2")
  assert first.entities == second.entities == ((0, 3), (8, 11), (24, 27))
  assert [first.text[start:end] for start, end in first.answers or ()] == ["Bob", "Bob"]
  assert second.answers is None and second.place == f"{path}: passage 1, question q2"


@pytest.mark.parametrize(
  ("change", "fault"),
  [
    ({"query": "who?"}, "line 1: query: @placeholder 0 times; expected it once"),
    ({"query": "@placeholder @placeholder"}, "query: @placeholder 2 times; expected it once"),
    ({"query": None}, "line 1: query: None; expected a string"),
    ({"entities": []}, "line 1: entities: none; expected one at least"),
    ({"entities": [[0, 30]]}, r"entities: \[0, 30\]; expected 0 <= start < end <= 20"),
    ({"entities": [[3, 4]]}, r"entities: \[3, 4\] is white space; expected some text"),
    ({"answers": [[0, 2]]}, r"answers: \[0, 2\]; expected spans that entities has"),
    ({"answers": "Ana"}, "answers: 'Ana'; expected a list"),
    ({"answer": []}, "answer: no such field; expected perhaps answers"),
  ],
)
def test_faulty_lines(tmp_path, change, fault):
  path = lines(tmp_path, LINE | change, LINE | {"id": "b"})
  with pytest.raises(InputError, match=fault):
    read(path, Faults())
  faults = Faults(skip=True)
  assert [example.id for example in read(path, faults)] == ["b"]
  assert len(faults.found) == 1


@pytest.mark.parametrize(
  ("change", "fault", "left"),
  [
    (lambda item: item["qas"][0]["answers"][0].update(text="Rob"), "'Rob' is not what char", 1),
    (lambda item: item["qas"][0]["answers"][0].update(end="10"), "expected a start and an end", 1),
    (lambda item: item["qas"][1].update(id="q1"), "passage 1, question q1: id: also in", 1),
    (lambda item: item["qas"][1].pop("id"), "passage 1: id: missing; expected a string", 1),
    (lambda item: item["qas"].append("q3"), "passage 1: a str; expected an object", 2),
    (lambda item: item["passage"]["entities"].append({"start": 3}), "passage 1, question q1", 0),
    (lambda item: item["passage"].pop("text"), "question q1: text: missing; expected a string", 0),
    (lambda item: item.pop("passage"), "passage 1: passage: a NoneType; expected an object", 0),
    (lambda item: item.pop("qas"), "passage 1: qas: missing; expected a list", 0),
  ],
)
def test_faulty_record(tmp_path, change, fault, left):
  path = record(tmp_path, change)
  with pytest.raises(InputError, match=fault):
    read(path, Faults())
  assert len(read(path, Faults(skip=True))) == left


@pytest.mark.parametrize("content", ["[]", "{}", '{"data": 3}', "{"])
def test_a_file_that_is_not_of_record(tmp_path, content):
  path = tmp_path / "record.json"
  path.write_text(content, encoding="utf-8")
  with pytest.raises(InputError, match=f"{path}: .*expected"):
    read(path, Faults(skip=True))
