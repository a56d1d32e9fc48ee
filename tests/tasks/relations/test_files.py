"""Every form of file, and what is wrong in them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from marked_tasks import written

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.formats.records import to_json
from luke_jax.tasks.relations.files import RelationExample, parse, read
from luke_jax.tasks.relations.score import score_file

SENTENCE = "In May -LRB- or June -RRB- , the pilot Ana Lund will lead it"
TACRED = {
  "id": "a1b2",
  "docid": "NEWS_7",
  "relation": "per:title",
  "token": SENTENCE.split(),
  "subj_start": 9,
  "subj_end": 10,
  "obj_start": 8,
  "obj_end": 8,
  "subj_type": "PERSON",
}
SEMEVAL = """17\t"The <e1>letters</e1> are about <e2>tax</e2> and "duty"."
Message-Topic(e1,e2)
Comment: An easy one.
Another line of it.

18\t"Our <e2>mill</e2> grinds good <e1>flour</e1>."
Product-Producer(e1,e2)
Comment:

"""
KBP37 = """170\t"The <e1> Lund </e1> Flying Club ( <e2> LFC </e2> ) has a field ..\"
org:alternate_names(e2,e1)


171\t"<e1> Lund </e1> <e2> Field </e2>"
no_relation


"""


def texts(example):
  return [example.text[slice(*span)] for span in (example.head, example.tail)]


def only(path):
  (example,) = read(path, Faults())
  return example


def fault(path):
  with pytest.raises(InputError) as raised:
    read(path, Faults())
  assert "\n" not in str(raised.value)
  return str(raised.value).replace(str(path), "FILE")


def test_characters_and_tokens_say_the_same(tmp_path):
  lines = [
    {"text": "Ana saw Bo .", "head": [8, 10], "tail": [0, 3], "label": "seen", "meta": [1]},
    {"id": "b", "tokens": ["Ana", "saw", "Bo", "."], "head": [2, 3], "tail": [0, 1]},
  ]
  one, other = read(written(tmp_path / "a.jsonl", lines), Faults())
  assert texts(one) == texts(other) == ["Bo", "Ana"] and one.text == other.text
  assert (one.id, one.label, other.id, other.label) == ("1", "seen", "b", None)
  assert one.place == f"{tmp_path / 'a.jsonl'}: line 1"


def test_tacred(tmp_path):
  path = tmp_path / "train.json"
  path.write_text(json.dumps([TACRED]))
  example = only(path)
  assert texts(example) == ["Ana Lund", "pilot"] and example.label == "per:title"
  assert example.id == TACRED["id"] and example.place == f"{path}: example 1"
  assert example.text == SENTENCE  # with its codes for brackets, as the paper's code reads it
  assert only(written(tmp_path / "a.jsonl", [TACRED])).text == example.text


def test_knowprompt(tmp_path):
  line = {"token": ["a", "big", "tree", "house"], "relation": "Other"}
  line |= {"h": {"name": "big tree", "pos": [1, 3]}, "t": {"name": "house", "pos": [3, 4]}}
  path = written(tmp_path / "train.txt", [line])
  assert texts(only(path)) == ["big tree", "house"] and only(path).label == "Other"


def test_semeval(tmp_path):
  path = tmp_path / "TRAIN_FILE.TXT"
  path.write_text(SEMEVAL)
  first, second = read(path, Faults())
  assert first.text == 'The letters are about tax and "duty".'
  assert texts(first) == ["letters", "tax"] and texts(second) == ["flour", "mill"]
  assert [x.label for x in (first, second)] == ["Message-Topic(e1,e2)", "Product-Producer(e1,e2)"]
  assert first.id == "17" and second.place == f"{path}: line 6"


def test_semeval_without_answers(tmp_path):
  path = tmp_path / "TEST_FILE.txt"
  path.write_text("".join(line + "\n" for line in SEMEVAL.splitlines() if "<e1>" in line))
  assert [(x.id, x.label) for x in read(path, Faults())] == [("17", None), ("18", None)]


def test_kbp37_has_spaces_inside_its_tags(tmp_path):
  path = tmp_path / "dev.txt"
  path.write_text(KBP37)
  first, second = read(path, Faults())
  assert first.text == "The Lund Flying Club ( LFC ) has a field .."
  assert texts(first) == ["Lund", "LFC"] and first.label == "org:alternate_names(e2,e1)"
  assert second.text == "Lund Field" and texts(second) == ["Lund", "Field"]


RELX = """1\t" La <e1> Lund </e1> a quitté <e2> Ana Roy </e2> en 1990 . "
per:employee_of(e2,e1)

2\t"<e2> Rom </e2>'da doğan <e1> Ana </e1> ."
no_relation
"""


def test_relx_has_the_form_of_kbp37_in_other_languages(tmp_path):
  path = tmp_path / "RELX_fr.txt"
  path.write_text(RELX, encoding="utf-8")
  first, second = read(path, Faults())
  assert texts(first) == ["Lund", "Ana Roy"] and first.label == "per:employee_of(e2,e1)"
  assert texts(second) == ["Ana", "Rom"] and second.text == "Rom 'da doğan Ana ."
  scores = score_file([first, second], {"1": "per:employee_of(e1,e2)", "2": "no_relation"})
  assert scores["semeval_macro_f1"] == 0  # the direction is wrong
  scores = score_file([first, second], {"1": "per:employee_of(e2,e1)", "2": "no_relation"})
  assert scores["semeval_macro_f1"] == 1  # no_relation is no part of the mean


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)


@given(st.lists(words, min_size=3, max_size=3), st.none() | words, st.booleans())
def test_what_is_written_is_read(pieces, label, reverse):
  before, head = pieces[:2]
  spans = [(len(before), len(before + head)), (len(before + head), len("".join(pieces)))]
  example = RelationExample("7", "here", "".join(pieces), *spans[:: -1 if reverse else 1], label)
  value = json.loads(json.dumps(to_json(example)))
  assert parse(value, value["id"], "here") == example


GOOD = {"text": "Ana saw Bo .", "head": [0, 3], "tail": [8, 10], "label": "seen"}
BAD_LINES = {
  "head: missing; expected [start, end], characters of the text, or words that it has once": {
    "head": None
  },
  "head: [0, 30]; expected 0 <= start < end <= 12, characters": {"head": [0, 30]},
  "tail: [3, 3]; expected 0 <= start < end <= 12, characters": {"tail": [3, 3]},
  "head 'Ana' overlaps tail 'Ana saw'; expected them apart": {"tail": [0, 7]},
  "head 'Ana' overlaps tail 'Ana'; expected them apart": {"tail": [0, 3]},
  "labels: no such field; expected perhaps label": {"labels": ["seen"]},
  "label: None; expected a string": {"label": None},
  "label: empty; expected the name of a relation": {"label": ""},
  "both text and tokens; expected text or tokens": {"tokens": ["Ana"]},
  "id: 7.5; expected a string": {"id": 7.5},
}


@pytest.mark.parametrize("told", BAD_LINES)
def test_a_bad_line_is_told_by_its_number(told, tmp_path):
  path = written(tmp_path / "a.jsonl", [GOOD, {**GOOD, **BAD_LINES[told]}])
  assert fault(path) == f"FILE: line 2: {told}"
  faults = Faults(skip=True)
  assert [x.id for x in read(path, faults)] == ["1"] and len(faults.found) == 1


def test_a_broken_line(tmp_path):
  path = written(tmp_path / "a.jsonl", [GOOD])
  path.write_text(path.read_text() + '{"text": "Ana\n')
  assert fault(path).startswith("FILE: line 2: ") and "expected a JSON object" in fault(path)


BAD_TACRED = {
  "head: [9, 20]; expected 0 <= start < end <= 14, tokens": {"subj_end": 19},
  "tail: [None, 9]; expected [start, end], tokens of the text": {"obj_start": None},
  "head 'Ana Lund' overlaps tail 'pilot Ana'": {"obj_end": 9},
  "token: 'In'; expected a list": {"token": "In"},
  "word 1: ''; expected a string that is not empty": {"token": ["In", "", *TACRED["token"][2:]]},
  "label: 5; expected a string": {"relation": 5},
}


@pytest.mark.parametrize("told", BAD_TACRED)
def test_a_bad_example_of_tacred_is_told_by_its_number(told, tmp_path):
  path = tmp_path / "a.json"
  path.write_text(json.dumps([TACRED, {**TACRED, "id": "b", **BAD_TACRED[told]}]))
  assert fault(path).startswith(f"FILE: example 2: {told}")


def test_other_faults_of_a_list(tmp_path):
  path = tmp_path / "a.json"
  path.write_text(json.dumps([TACRED, TACRED]))
  told = f"FILE: example 2: id {TACRED['id']!r}: also that of example 1; expected it once"
  assert fault(path) == told
  path.write_text("[5]")
  assert fault(path) == "FILE: example 1: a int; expected an object"
  path.write_text("{}")
  assert fault(path) == "FILE: a dict; expected a list of examples"


BAD_TEXTS = {
  "1\tno tags": "line 1: the tags none; expected one <e1>…</e1> and one <e2>…</e2>",
  '1\t"<e1>a</e1> <e2>b"': "line 1: the tags <e1> </e1> <e2>; expected one",
  "1\t<e1>a <e2>b</e2></e1>": "line 1: the tags <e1> <e2> </e2> </e1>; expected one",
  "1\t<e1></e1> <e2>b</e2>": "line 1: head: [0, 0]; expected 0 <= start < end",
  "1\t<e1>a</e1> <e2>b</e2>\nx\ny": "line 1: then 'y' after the label; expected a comment",
  "1\t<e1>a</e1> <e2>b</e2>\nx\n\n1\t<e1>a</e1> <e2>b</e2>": "line 4: id '1': also that of line 1",
}


@pytest.mark.parametrize("text", BAD_TEXTS)
def test_a_bad_text_is_told_by_its_line(text, tmp_path):
  path = tmp_path / "a.txt"
  path.write_text(text)
  assert fault(path).startswith(f"FILE: {BAD_TEXTS[text]}")


def test_the_rest_of_a_text_is_read_where_faults_are_skipped(tmp_path):
  path, faults = tmp_path / "a.txt", Faults(skip=True)
  path.write_text("7\tno tags\nx\n\n" + KBP37)
  assert [x.id for x in read(path, faults)] == ["170", "171"] and len(faults.found) == 1
