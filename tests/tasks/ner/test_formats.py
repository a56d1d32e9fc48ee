"""Files of other tools, and in the form of OntoNotes 5."""

import json
import re
import sys
import types

import pytest

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.tasks.ner.documents import Reading
from luke_jax.tasks.ner.files import parse, read


def named(example):
  return [(example.text[start:end], label) for start, end, label in example.spans]


TEXT = "Ana lives in Los Angeles. So."
SPANS = [[0, 3, "PER"], [13, 24, "LOC"]]
OFFSETS = [{"start_offset": s, "end_offset": e, "label": x, "id": 1} for s, e, x in SPANS]
SENTS = [{"start": 0, "end": 25}, {"start": 26, "end": 29}]
ENTS = [{"start": start, "end": end, "label": label} for start, end, label in SPANS]
TOKENS = ["Ana", "lives", "in", "Los", "Angeles", "."]
TAGS = ["B-PER", "O", "O", "B-LOC", "I-LOC", "O"]
FORMS = {
  "doccano": {"id": 7, "text": TEXT, "label": SPANS, "Comments": []},
  "older doccano": {"id": 7, "text": TEXT, "labels": SPANS, "meta": {}},
  "doccano with relations": {"id": 7, "text": TEXT, "entities": OFFSETS, "relations": []},
  "spaCy's training": {"id": "7", "text": TEXT, "entities": SPANS},
  "spaCy": {"id": 7, "text": TEXT, "ents": ENTS, "sents": SENTS, "tokens": [{"id": 0}]},
  "Hugging Face": {"id": "7", "tokens": TOKENS, "pos_tags": [1] * 6, "ner_tags": TAGS},
  "Hugging Face with numbers": {"id": 7, "tokens": TOKENS, "ner_tags": [1, 0, 0, 3, 4, 0]},
  "Hugging Face of tner": {"id": 7, "tokens": TOKENS, "tags": [1, 0, 0, 3, 4, 0]},
}
READING = Reading(tag_names=("O", "B-PER", "I-PER", "B-LOC", "I-LOC"))


@pytest.mark.parametrize("form", FORMS)
def test_forms_that_are_read(form, tmp_path):
  path = tmp_path / "a.jsonl"
  path.write_text(json.dumps(FORMS[form]) + "\n")
  (example,) = read(path, Faults(), READING)
  assert example.id == "7" and named(example) == [("Ana", "PER"), ("Los Angeles", "LOC")]


def test_ids_that_are_numbers_are_told_from_each_other(tmp_path):
  path = tmp_path / "a.jsonl"
  path.write_text('{"id": 7, "text": "a", "label": []}\n{"id": "7", "text": "b"}\n')
  with pytest.raises(InputError, match="line 2: id '7': also that of line 1"):
    read(path, Faults())


def test_sentences_of_spacy():
  assert len(parse(FORMS["spaCy"], "7", "p").sentences) == 2


@pytest.mark.parametrize(
  ("value", "fault"),
  [
    ({"text": "a", "label": ["news"]}, "label: 'news'; expected [start, end, label]"),
    ({"text": "a", "label": [[0, 9, "X"]]}, "spans: [0, 9]; expected 0 <= start < end <= 1"),
    ({"text": "a", "ents": [{"start": 0}]}, "spans: [0, None, None]; expected [start, end, label]"),
    ({"text": "a", "spans": [], "label": []}, "label: no such field; expected "),
    ({"text": "a", "label": [{"labels": ["X"]}]}, "spans: [None, None, 'X']; expected [start, end"),
    ({"text": "a", "label": [{"labels": ["X", "Y"]}]}, "{'labels': ['X', 'Y']}; expected a span"),
    ({"data": {}, "annotations": []}, "data: 0 texts; expected one, or a field text"),
    ({"tokens": ["a"], "ner_tags": [3]}, "ner_tags: 3, a number; expected tags such as B-PER, or"),
    ({"tokens": ["a"], "ner_tags": ["X"]}, "ner_tags: tag 'X'; expected O, or one of B- I-"),
    ({"tokens": ["a"], "ner_tags": [None]}, "ner_tags: tag 'None'; expected O, or one of B- I-"),
    ({"tokens": ["a"], "ner_tags": []}, "ner_tags: 0; expected 1, one for each token"),
    (
      {"tokens": ["a", "b"], "ner_tags": ["B-X", "I-Y"]},
      "ner_tags: token 1: tag 'I-Y' between 'B-X' and 'O'; expected B-Y, as the file's tags are"
      " IOB2; --repair-tags (in training",
    ),
  ],
)
def test_bad_objects(value, fault):
  with pytest.raises(InputError) as found:
    parse(value, "a", "here")
  assert str(found.value).startswith(f"here: {fault}")


@pytest.mark.parametrize("number", [-100, 5])
def test_numbers_without_a_name(number):
  with pytest.raises(InputError, match=f"ner_tags: {number}; expected a number from 0 to 4"):
    parse({"tokens": ["a"], "ner_tags": [number]}, "a", "here", READING)


def test_repaired_tags_are_counted(tmp_path):
  path = tmp_path / "a.jsonl"
  line = json.dumps({"tokens": ["a", "b"], "ner_tags": ["B-X", "I-Y"]})
  path.write_text(f"{line}\n{line}\n")
  with pytest.warns(UserWarning, match=": 2, the first in line 1: ner_tags: token 1: tag 'I-Y'"):
    examples = read(path, Faults(), Reading(repair_tags=True))
  assert [named(example) for example in examples] == [[("a", "X"), ("b", "Y")]] * 2


def as_label_studio(spans, **fields):
  """A task of its export, whose text is under a name of the user's own."""
  values = [{"start": x, "end": y, "text": "…", "labels": [label]} for x, y, label in spans]
  result = [{"type": "labels", "from_name": "label", "value": value} for value in values]
  return {
    "data": {"body": "Ana lives in Los Angeles"},
    "annotations": [{"result": result}],
    **fields,
  }


LISTS = {
  "Label Studio": [as_label_studio([(0, 3, "PER"), (13, 24, "LOC")], id=7)],
  "Label Studio, cancelled": [
    {**as_label_studio([(0, 3, "PER"), (13, 24, "LOC")], id=7)}
    | {
      "annotations": [
        {"was_cancelled": True, "result": [{"value": {"start": 0, "end": 3, "labels": ["LOC"]}}]},
        *as_label_studio([(0, 3, "PER"), (13, 24, "LOC")])["annotations"],
      ]
    }
  ],
  "Label Studio, brief": [
    {
      "id": 7,
      "text": "Ana lives in Los Angeles",
      "label": [
        {"start": 0, "end": 3, "labels": ["PER"]},
        {"start": 13, "end": 24, "labels": ["LOC"]},
      ],
    }
  ],
  "ours": [
    {"id": "7", "text": "Ana lives in Los Angeles", "spans": [[0, 3, "PER"], [13, 24, "LOC"]]}
  ],
}


@pytest.mark.parametrize("form", LISTS)
def test_lists_that_are_read(form, tmp_path):
  path = tmp_path / "a.json"
  path.write_text(json.dumps(LISTS[form], indent=1))
  (example,) = read(path, Faults())
  assert example.id == "7" and named(example) == [("Ana", "PER"), ("Los Angeles", "LOC")]


def test_pairs_of_spacy_2_and_faults_of_lists(tmp_path):
  path = tmp_path / "a.json"
  path.write_text('[["Ana", {"entities": [[0, 3, "PER"]]}], 3]')
  with pytest.raises(InputError, match=r"a.json: example 2: a int; expected an object"):
    read(path, Faults())
  (example,) = read(path, Faults(skip=True))
  assert named(example) == [("Ana", "PER")]


def test_documents_of_spacy_are_read_by_spacy(tmp_path, monkeypatch):
  class DocBin:
    def from_disk(self, path):
      assert path == tmp_path / "a.spacy"
      return self

    def get_docs(self, vocab):
      assert vocab == "vocab of xx"
      return [types.SimpleNamespace(to_json=lambda: FORMS["spaCy"])]

  spacy = types.ModuleType("spacy")
  spacy.blank = lambda language: types.SimpleNamespace(vocab=f"vocab of {language}")
  tokens = types.ModuleType("spacy.tokens")
  tokens.DocBin = DocBin
  monkeypatch.setitem(sys.modules, "spacy", spacy)
  monkeypatch.setitem(sys.modules, "spacy.tokens", tokens)
  (example,) = read(tmp_path / "a.spacy", Faults())
  assert named(example) == [("Ana", "PER"), ("Los Angeles", "LOC")]


CSV = "comma-separated values; expected a header with sentence_id, word and tag; or tabs"
OF_TEXTS = (
  "comma-separated values (texts with a label each are of classification); expected a header"
)

TABLES = {
  "numbers": 'sentence_id,word,tag\n1,Ana,B-PER\n1,",",O\n2,Lima,B-LOC\n',
  "first": (
    '"Sentence #",Word,POS,Tag\nSentence: 1,Ana,NNP,B-PER\n,",",",",O\nSentence: 2,Lima,N,B-LOC\n'
  ),
}


@pytest.mark.parametrize("table", TABLES)
def test_comma_separated_words_and_tags_with_a_header(table, tmp_path):
  (tmp_path / "a.csv").write_text(TABLES[table])
  first, second = read(tmp_path / "a.csv", Faults())
  assert len(first.words) == 2 and named(first) == [("Ana", "PER")]
  assert named(second) == [("Lima", "LOC")]


def test_a_row_of_another_width_is_named(tmp_path):
  (tmp_path / "a.csv").write_text("sentence_id,word,tag\n1,Ana\n")
  with pytest.raises(InputError, match="line 2: 2 fields; expected 3, as in the header"):
    read(tmp_path / "a.csv", Faults())


@pytest.mark.parametrize(
  ("name", "text", "fault"),
  [
    ("a.csv", "word,tag\nAna,B-PER\n", CSV),
    ("a.csv", "text;labels\nAna lives;x\n", OF_TEXTS),
    ("a.txt", "word,tag\nAna,B-PER\nlives,O\n", CSV),
    ("a.json", '{\n"text": "a"}', "an object over several lines; expected one on each"),
    ("a.jsonl", '["Ana", {}]\n["Bob", {}]\n', "line 1: a list; expected a JSON object"),
    (
      "a.spacy",
      "x",
      "a DocBin of spaCy; expected spaCy with it, pip install spacy, or doc.to_json()",
    ),
  ],
)
def test_forms_that_are_named(name, text, fault, tmp_path):
  path = tmp_path / name
  path.write_text(text)
  with pytest.raises(InputError) as found:
    read(path, Faults())
  assert str(found.value).startswith(f"{path}: {fault}") and "\n" not in str(found.value)


def test_commas_in_columns_are_words(tmp_path):
  path = tmp_path / "a.csv"
  path.write_text("Ana B-PER\n, O\n3,5 O\n")
  (example,) = read(path, Faults())
  assert named(example) == [("Ana", "PER")]


WORDS = "nw/wsj/00 0 {} {} NNP * - - - - {} -\n"


def written(folder, *sentences):
  path = Path(folder / "a.gold_conll")
  rows = ("".join(WORDS.format(i, *x) for i, x in enumerate(rows)) + "\n" for rows in sentences)
  path.write_text(f"#begin document (nw/wsj/00); part 000\n{''.join(rows)}#end document\n")
  return path


def test_brackets_are_names(tmp_path):
  first = [("Ana", "(PERSON*"), ("#", "*"), ("Lopez", "*)"), ("of", "*"), ("Rome", "(GPE)")]
  path = written(tmp_path, first, [("It", "*"), ("rained", "*")])
  path.write_text(path.read_text() + path.read_text())
  examples = read(path, Faults())
  assert [[len(words) for words in x.sentences] for x in examples] == [[5, 2]] * 2
  found = [(examples[1].text[start:end], label) for start, end, label in examples[1].spans]
  assert found == [("Ana# Lopez", "PERSON"), ("Rome", "GPE")]
  assert examples[1].lines == (13, 19)


@pytest.mark.parametrize(
  ("rows", "message"),
  [
    ([("Rome", "*)")], "line 2: name '*)'; expected such as *, (GPE), (GPE* or *)"),
    ([("a", "(GPE*"), ("b", "(GPE)")], "line 3: name '(GPE)'; expected such as"),
    ([("a", "GPE")], "line 2: name 'GPE'; expected such as"),
    ([("a", "(GPE*")], "line 3: the name of 'GPE' has no end; expected ) before"),
  ],
)
def test_brackets_that_do_not_match(tmp_path, rows, message):
  path = written(tmp_path, rows, [("fine", "*")])
  with pytest.raises(InputError, match=re.escape(message)):
    read(path, Faults())
  faults = Faults(skip=True)
  assert [x.text for x in read(path, faults)] == [] and len(faults.found) == 1


def test_lines_that_are_too_short(tmp_path):
  path = written(tmp_path, [("Rome", "(GPE)")])
  path.write_text(path.read_text().replace(" (GPE) -\n", "\n"))
  with pytest.raises(InputError, match="line 2: 10 columns; expected 11 or more"):
    read(path, Faults())
