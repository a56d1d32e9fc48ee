"""Spreadsheets, and what was drawn in annotation tools, as examples of spans."""

import json
import math

import pytest

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.formats.records import from_frame
from luke_jax.tasks.cloze.files import parse as parse_cloze
from luke_jax.tasks.linking.files import parse as parse_links
from luke_jax.tasks.ner.files import parse as parse_names
from luke_jax.tasks.qa.files import parse as parse_question
from luke_jax.tasks.qa.files import read as read_questions
from luke_jax.tasks.relations.files import parse as parse_relation
from luke_jax.tasks.relations.files import read as read_relations
from luke_jax.tasks.typing.files import read as read_types

TEXT = "Nordvik is owned by Hamar Steel, and Oslo by none."
NORDVIK, HAMAR, OSLO = (0, 7), (20, 31), (37, 41)


def written(tmp_path, name, text):
  (tmp_path / name).write_text(text, encoding="utf-8")
  return tmp_path / name


def test_cells_name_words_of_the_text(tmp_path):
  row = f'"{TEXT}";Nordvik;Hamar Steel;owned_by\n'
  path = written(tmp_path, "a.csv", f"Text;Head;Tail;Label\n{row}")
  (one,) = read_relations(path, Faults())
  assert (one.text, one.head, one.tail, one.label) == (TEXT, NORDVIK, HAMAR, "owned_by")
  path = written(tmp_path, "b.tsv", f"id\ttext\tspan\ttype\nx\t{TEXT}\tOslo\tcity; place\n")
  (one,) = read_types(path, Faults())
  assert (one.id, one.span, one.labels) == ("x", OSLO, ("city", "place"))
  rows = f'Who?,"{TEXT}",Nordvik;Oslo\nWho sings?,"{TEXT}",\n'
  first, second = read_questions(
    written(tmp_path, "c.csv", f"question,context,answer\n{rows}"), Faults()
  )
  assert (first.answers, second.answers, first.text) == ((NORDVIK, OSLO), (), TEXT)


@pytest.mark.parametrize(
  ("text", "fault"),
  [
    ("text,tail\n", "line 1: no column 'head'; expected text, head, tail, label"),
    ("text,head,head\n", "line 1: column 'head'; expected text, head, tail, label, each once"),
    ("text,head,tails\n", "line 1: column 'tails'; expected text, head, tail, label"),
    ("text,head,tail\na b,a\n", "line 2: 2 fields; expected 3, as in the header"),
    ("text,head,tail\na b,c,a\n", "line 2: head: 'c': not in the text; expected words of it"),
    ("text,head,tail\na b,,a\n", "line 2: head: '': not in the text; expected words of it"),
    ("text,head,tail\na b a,a,b\n", "line 2: head: 'a': 2 times in the text; expected more"),
  ],
)
def test_faults_of_spreadsheets_have_their_line(text, fault, tmp_path):
  with pytest.raises(InputError) as found:
    read_relations(written(tmp_path, "a.csv", text), Faults())
  assert fault in str(found.value)


def relation(text, head, tail):
  found = parse_relation({"text": text, "head": head, "tail": tail}, "1", "line 1")
  return [found.text[slice(*x)] for x in (found.head, found.tail)], found


def test_a_name_outside_of_the_other_is_meant():
  text = "The founder of Dyson, James Dyson"
  for head, tail in (("Dyson", "James Dyson"), ("James Dyson", "Dyson")):
    words, found = relation(text, head, tail)
    assert words == [head, tail] and {found.head, found.tail} == {(15, 20), (22, 33)}
  assert relation("Anabel met Ana in Oslo", "Ana", "Oslo")[1].head == (11, 14)
  assert relation("东京是日本的首都", "日本", "首都")[1].head == (3, 5)
  with pytest.raises(InputError, match=r"head: 'Dyson': 2 times .* --skip-bad leaves it out"):
    relation("Dyson and Dyson of James Dyson", "Dyson", "James Dyson")
  with pytest.raises(InputError, match="head 'Dyson' overlaps tail 'James Dyson'"):
    relation("James Dyson", "Dyson", "James Dyson")


def test_names_as_words_stand_wherever_spans_do():
  names = parse_names({"text": "Ana sings", "spans": [["Ana", "person"]]}, "1", "line 1")
  assert names.spans == ((0, 3, "person"),)
  linked = parse_links({"text": "Ana sings", "mentions": ["Ana"]}, "1", "line 1")
  assert linked.mentions[0][:2] == (0, 3)
  gap = {"text": "Ana met Bo", "query": "@placeholder met", "entities": ["Ana", "Bo"]}
  assert parse_cloze(gap | {"answers": ["Ana"]}, "1", "line 1").answers == ((0, 3),)
  asked = {"text": "Ana met Ana", "question": "Who?", "answers": ["Ana"]}
  assert parse_question(asked, "1", "line 1").answers == ((0, 3),)
  words = parse_relation({"tokens": ["Ana", "in", "Oslo"], "head": "Ana", "tail": [2, 3]}, "1", "")
  assert (words.head, words.tail) == ((0, 3), (7, 11))


def test_a_data_frame_has_what_a_spreadsheet_has():
  columns = ("text", "head", "tail", "label")
  row = {"Text": TEXT, "Head": " Oslo", "Tail": [0, 7], "type": 3, "note": math.nan}
  expected = {"text": TEXT, "head": "Oslo", "tail": [0, 7], "labels": 3}
  assert from_frame(row, columns, "train") == expected
  row = {"text": TEXT, "span": None, "labels": "a; b"}
  assert from_frame(row, ("text", "span", "labels"), "train") == {
    "text": TEXT,
    "span": "",
    "labels": ["a", "b"],
  }
  assert from_frame({"text": "a", "label": math.nan}, (), "train") == {"text": "a"}


def test_relations_of_label_studio_and_doccano(tmp_path):
  spans = {"a": NORDVIK, "b": HAMAR, "c": OSLO}
  results = [
    {"id": id, "value": {"start": start, "end": end, "labels": ["ORG"]}, "type": "labels"}
    for id, (start, end) in spans.items()
  ]
  drawn = {"from_id": "b", "to_id": "a", "type": "relation", "direction": "left"}
  results.append(drawn | {"labels": ["owned_by"]})
  task = {"id": 7, "data": {"text": TEXT}, "annotations": [{"result": results}]}
  path = written(tmp_path, "a.json", json.dumps([task]))
  wanted = [(NORDVIK, HAMAR, "owned_by"), (NORDVIK, OSLO, "no_relation")]
  wanted.append((HAMAR, OSLO, "no_relation"))
  found = read_relations(path, Faults())
  assert [(x.head, x.tail, x.label) for x in found] == wanted
  assert [x.id for x in found] == ["7-1", "7-2", "7-3"]
  entities = [
    {"id": id, "label": "ORG", "start_offset": start, "end_offset": end}
    for id, (start, end) in enumerate(spans.values())
  ]
  line = {"id": 1, "text": TEXT, "entities": entities}
  line["relations"] = [{"id": 0, "from_id": 0, "to_id": 1, "type": "owned_by"}]
  path = written(tmp_path, "b.jsonl", json.dumps(line) + "\n")
  assert [(x.head, x.tail, x.label) for x in read_relations(path, Faults())] == wanted
  line["relations"][0]["to_id"] = 9
  path = written(tmp_path, "b.jsonl", json.dumps(line) + "\n")
  with pytest.raises(InputError, match="a relation of 0 and 9; expected two of its spans"):
    read_relations(path, Faults())
  entities[0]["start_offset"] = "/div[1]/text()[1]"  # of a page of HTML
  path = written(tmp_path, "b.jsonl", json.dumps(line) + "\n")
  with pytest.raises(InputError, match="expected a whole number start_offset in it"):
    read_relations(path, Faults())


def test_questions_as_the_hub_has_them(tmp_path):
  answers = {"text": ["Hamar Steel"], "answer_start": [20]}
  line = {"id": "q", "title": "T", "context": TEXT, "question": "Who?", "answers": answers}
  path = written(tmp_path, "a.jsonl", json.dumps(line) + "\n")
  (one,) = read_questions(path, Faults())
  assert (one.text, one.answers, one.title) == (TEXT, (HAMAR,), "T")
  answers["answer_start"] = [21]
  path = written(tmp_path, "a.jsonl", json.dumps(line) + "\n")
  with pytest.raises(InputError, match="answer 'Hamar Steel': at 21 stands 'amar Steel,'"):
    read_questions(path, Faults())
