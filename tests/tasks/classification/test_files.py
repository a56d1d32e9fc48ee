"""Texts with labels in tables and lines of JSON, as users and benchmarks write them."""

import json
import re

import pytest

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.tasks.classification.files import TextExample, number_in, read, to_json
from luke_jax.tasks.classification.forms import BENCHMARKS, form_of


def file(folder, name, text):
  path = folder / name
  path.write_text(text, encoding="utf-8")
  return path


def plain(path, columns=()):
  """What a file says, without places."""
  return [(x.text, x.text_pair, x.labels, x.qid) for x in read(path, Faults(), columns)]


def fault(path, columns=()):
  with pytest.raises(InputError) as found:
    read(path, Faults(), columns)
  return str(found.value).replace(f"{path}", "FILE")


def test_tables_and_objects_say_the_same(tmp_path):
  one = [("a, b", "c", ("1",), "7"), ("d", "e", ("0",), "7")]
  tabs = "qid\ttext_a\ttext_b\tlabel\n7\ta, b\tc\t1\n7\td\te\t0\n"
  commas = 'text,text_pair,label,qid\n"a, b",c,1,7\n\nd,e,0,7\n'
  objects = [
    {"text": "a, b", "text_pair": "c", "label": 1, "qid": 7},
    {"tokens": ["d"], "text_b": "e", "labels": ["0"], "qid": "7"},
  ]
  assert plain(file(tmp_path, "a.tsv", tabs)) == one
  assert plain(file(tmp_path, "a.csv", commas)) == one
  assert plain(file(tmp_path, "a.jsonl", "\n".join(map(json.dumps, objects)))) == one
  assert plain(file(tmp_path, "a.json", json.dumps(objects, indent=1))) == one
  named = file(tmp_path, "b.csv", "stars,review,shop\n5,good,X\n")
  assert plain(named, ("text=review", "label=stars")) == [("good", None, ("5",), None)]


def test_chinese_files_of_baidu_and_quotes_that_are_none(tmp_path):
  path = file(tmp_path, "a.tsv", '\ufefflabel\ttext_a\n1\t选择珠江花园的原因就是方便\n0\t"x\n')
  assert plain(path) == [
    ("选择珠江花园的原因就是方便", None, ("1",), None),
    ('"x', None, ("0",), None),
  ]


def test_quoted_cells_may_have_lines_and_the_place_is_the_last(tmp_path):
  (example,) = read(file(tmp_path, "a.csv", 'text,label\n"one\ntwo ""2""",x\n'), Faults())
  assert (example.text, example.place) == ('one\ntwo "2"', f"{tmp_path / 'a.csv'}: line 3")


RELEASED = {
  "cola": ("gj04\t1\t\tOur friends won't buy it.\n", ("Our friends won't buy it.", None, ("1",))),
  "sst-2": ("sentence\tlabel\nhide new secretions \t0\n", ("hide new secretions ", None, ("0",))),
  "mrpc": (
    "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\ta\tb\n",
    ("a", "b", ("1",)),
  ),
  "sts-b": (
    "index\tgenre\tsentence1\tsentence2\tscore\n0\tmain\ta\tb\t5.000\n",
    ("a", "b", ("5.000",)),
  ),
  "qqp": (
    "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n1\t2\t3\ta\tb\t0\n",
    ("a", "b", ("0",)),
  ),
  "mnli": (
    "index\tgenre\tsentence1\tsentence2\tlabel1\tgold_label\n0\tx\ta\tb\tneutral\tentailment\n",
    ("a", "b", ("entailment",)),
  ),
  "qnli": ("index\tquestion\tsentence\tlabel\n0\ta\tb\tentailment\n", ("a", "b", ("entailment",))),
  "rte": ("index\tsentence1\tsentence2\tlabel\n0\ta\tb\tx\n", ("a", "b", ("x",))),
  "wnli": ("index\tsentence1\tsentence2\tlabel\n0\ta\tb\t1\n", ("a", "b", ("1",))),
  "afqmc": ({"sentence1": "a", "sentence2": "b", "label": "0"}, ("a", "b", ("0",))),
  "tnews": (
    {"label": "102", "label_desc": "news", "sentence": "a", "keywords": ""},
    ("a", None, ("102",)),
  ),
  "iflytek": ({"label": "110", "label_des": "x", "sentence": "a"}, ("a", None, ("110",))),
  "cmnli": ({"sentence1": "a", "sentence2": "b", "label": "neutral"}, ("a", "b", ("neutral",))),
  "ocnli": (
    {"level": "easy", "sentence1": "a", "sentence2": "b", "label": "neutral", "id": 23},
    ("a", "b", ("neutral",)),
  ),
  "wsc": (
    {
      "target": {"span2_index": 5, "span1_index": 0, "span1_text": "老师", "span2_text": "他"},
      "idx": 0,
      "label": "true",
      "text": "老师说完，他走了",
    },
    ("_老师_说完，[他]走了", None, ("true",)),
  ),
  "csl": ({"id": 1, "abst": "a", "keyword": ["b", "c"], "label": "1"}, ("a", "b c", ("1",))),
}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_files_as_released(tmp_path, name):
  content, expected = RELEASED[name]
  table = isinstance(content, str)
  path = file(tmp_path, "a.tsv" if table else "a.json", content if table else json.dumps(content))
  (found,) = plain(path, (name.upper(),))
  assert found == (*expected, None)


def test_a_test_file_of_cola_has_a_header(tmp_path):
  path = file(tmp_path, "test.tsv", "index\tsentence\n0\tBill whistled.\n")
  assert plain(path, ("cola",)) == [("Bill whistled.", None, None, None)]


def test_pairs_without_agreement_are_left_out_and_counted(tmp_path):
  lines = [{"sentence1": "a", "sentence2": "b", "label": x} for x in ("-", "neutral")]
  path = file(tmp_path, "dev.json", "\n".join(map(json.dumps, lines)))
  with pytest.warns(match=r"1 of 2 examples are left out: their label is '-'"):
    assert plain(path, ("ocnli",)) == [("a", "b", ("neutral",), None)]


def test_an_object_as_a_user_types_it_needs_no_names_of_a_benchmark(tmp_path):
  path = file(tmp_path, "a.jsonl", '{"text": "a", "text_pair": "b"}')
  assert plain(path, ("mnli",)) == [("a", "b", None, None)]


@pytest.mark.parametrize(
  ("name", "text", "columns", "expected"),
  [
    ("a.tsv", "text\tlabel\na\n", (), "line 2: 1 fields; expected 2, as in the header"),
    ("a.tsv", "txt\tlabel\na\tb\n", (), "line 1: columns txt, label; expected 'text' among them"),
    ("a.csv", "text,lable\na,b\n", (), "line 1: column 'lable': not known; expected id, text"),
    ("a.csv", 'text,label\n"a" b,c\n', (), "line 2: ',' expected after '\"'; expected commas"),
    ("a.tsv", "text\tlabel\na\t \n", (), "line 2: label: empty; expected a text or a number"),
    ("a.csv", "id,text\n1,a\n1,b\n", (), "line 3: id '1': also that of line 2; expected"),
    ("a.jsonl", '{"text": "a", "label": null}', (), "line 1: label: None; expected a text"),
    ("a.jsonl", '{"text": "a", "label": NaN}', (), "line 1: label: nan; expected a text"),
    ("a.jsonl", '{"text": "a", "label": "b", "labels": []}', (), "line 1: both label and labels"),
    ("a.jsonl", '{"text": "a", "labels": "b"}', (), "line 1: labels: 'b'; expected a list"),
    ("a.jsonl", '{"text": "a", "text_par": "b"}', (), "text_par: no such field; expected perhaps"),
    ("a.json", '["a"]', (), "example 1: a str; expected an object"),
    ("a.json", '{"sentence": "a"}', ("mnli",), "line 1: no 'sentence1'; expected it, as --columns"),
    ("a.json", '{"text": "a", "target": 1}', ("wsc",), "target: 1; expected an object, as in CLUE"),
    ("a.xml", "<a>", (), "FILE: .xml; expected a name with .tsv, .csv, .jsonl, .json"),
  ],
)
def test_faults_name_their_place(tmp_path, name, text, columns, expected):
  assert expected in fault(file(tmp_path, name, text), columns)


@pytest.mark.parametrize(
  ("columns", "expected"),
  [
    (("mnlli",), "expected pairs such as text=review,label=stars, or one of .*, perhaps mnli$"),
    (("label=a",), "expected text=… among them"),
    (("text=a", "text=b"), "expected each of id, text, .* at most once"),
    (("text=a", "x=b"), "expected each of"),
  ],
)
def test_faults_in_the_names_of_columns(columns, expected):
  with pytest.raises(InputError, match=expected):
    form_of(columns)


@pytest.mark.parametrize("labels", [None, (), ("a", "b"), ("much",), ("inf",)])
def test_what_is_no_number(labels):
  with pytest.raises(InputError, match=r"FILE: label: .*; expected a number"):
    number_in(TextExample("1", "FILE", "a", labels=labels))


def test_examples_come_back_from_their_objects(tmp_path):
  values = [
    {"id": "1", "text": "a", "label": "x"},
    {"id": "2", "text": "a", "text_pair": "b", "labels": ["x", "y"], "qid": "3"},
    {"id": "3", "text": "a", "labels": []},
  ]
  path = file(tmp_path, "a.jsonl", "\n".join(map(json.dumps, values)))
  assert [to_json(example) for example in read(path, Faults())] == values


def test_faulty_lines_are_collected_where_they_may_be(tmp_path):
  faults = Faults(skip=True)
  found = read(file(tmp_path, "a.tsv", "text\tlabel\na\tb\nc\nd\te\n"), faults)
  assert [x.text for x in found] == ["a", "d"] and len(faults.found) == 1
  assert re.search("line 3: 1 fields", str(faults.found[0]))


def test_exports_of_tools_that_label(tmp_path):
  result = [{"type": "choices", "value": {"choices": ["good"]}}]
  tasks = [{"id": 3, "data": {"text": "a"}, "annotations": [{"result": result}]}]
  assert plain(file(tmp_path, "a.json", json.dumps(tasks))) == [("a", None, ("good",), None)]
  doccano = '{"id": 3, "text": "a", "label": ["good"]}\n'
  assert plain(file(tmp_path, "a.jsonl", doccano)) == [("a", None, ("good",), None)]
