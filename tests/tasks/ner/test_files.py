"""Documents in files: columns and JSON lines, there and back, and what is wrong in them."""

import dataclasses
import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.tasks.ner.documents import to_words
from luke_jax.tasks.ner.files import parse, read, to_columns, to_json
from luke_jax.tasks.predictions import Span

CONLL = """-DOCSTART- -X- -X- O

EU NNP B-NP I-ORG
rejects VBZ B-VP O
German JJ B-NP I-MISC
call NN I-NP O
. . O O

Peter NNP B-NP I-PER
Blackburn NNP I-NP I-PER

-DOCSTART- -X- -X- O

Rome NNP I-NP I-LOC
Oslo NNP I-NP B-LOC
\t
"""


def written(tmp_path, text, name="a.conll"):
  path = tmp_path / name
  path.write_text(text, encoding="utf-8")
  return path


def named(example):
  return [(example.text[start:end], label) for start, end, label in example.spans]


def words(example):
  return [example.text[start:end] for start, end in example.words]


def test_columns(tmp_path):
  path = written(tmp_path, CONLL)
  first, second = read(path, Faults())
  assert first.text == " EU rejects German call. Peter Blackburn"
  assert [len(sentence) for sentence in first.sentences] == [5, 2]
  assert named(first) == [("EU", "ORG"), ("German", "MISC"), ("Peter Blackburn", "PER")]
  assert named(second) == [("Rome", "LOC"), ("Oslo", "LOC")]
  assert (first.id, first.place) == ("1", f"{path}: line 3")
  assert (second.id, second.place) == ("2", f"{path}: line 14")
  assert first.place_of(first.text.index("Blackburn")) == f"{path}: line 10"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_without_boundaries_every_sentence_is_a_document(tmp_path, newline):
  text = "Ana\tS-PER\nsaid\tO\n\t\nLos\tB-LOC\nAngeles\tE-LOC\n".replace("\n", newline)
  examples = read(written(tmp_path, text), Faults())
  assert [named(example) for example in examples] == [[("Ana", "PER")], [("Los Angeles", "LOC")]]
  assert [example.id for example in examples] == ["1", "2"]


def test_one_column_is_words_without_answers(tmp_path):
  (example,) = read(written(tmp_path, "Ana\nsaid\u00a0so\n"), Faults())
  assert example.spans is None
  assert words(example) == ["Ana", "said\u00a0so"]


@pytest.mark.parametrize("text", ["", "\n\n", "-DOCSTART- O\n\n-DOCSTART- O\n"])
def test_nothing(tmp_path, text):
  assert read(written(tmp_path, text), Faults()) == []


def test_an_inside_tag_begins_no_chunk_across_sentences(tmp_path):
  text = "-DOCSTART- O\n\nRome I-LOC\n\nOslo I-LOC\n"
  (example,) = read(written(tmp_path, text), Faults())
  assert named(example) == [("Rome", "LOC"), ("Oslo", "LOC")]


FAULTS = [
  ("EU I-ORG\nrejects\n", "line 2: 1 columns; expected 2, as in the first line"),
  ("EU\nrejects O\n", "line 2: 2 columns; expected 1, as in the first line"),
  ("EU X\n", "line 1: tag 'X'; expected O, or one of B- I- M- E- S- and a label"),
  ("EU B-\n", "line 1: tag 'B-'; expected O, or one of B- I- M- E- S- and a label"),
  (
    "EU B-ORG\nof O\nUS B-LOC\n\nin O\nBonn I-LOC\n",
    "line 6: tag 'I-LOC' between 'O' and 'O'; expected B-LOC, as the file's tags are IOB2",
  ),
  (
    "EU I-ORG\nof O\nUS I-LOC\n\nin O\nBonn B-LOC\n",
    "line 6: tag 'B-LOC' between 'O' and 'O'; expected I-LOC, as the file's tags are IOB1",
  ),
  (
    "A S-LOC\nof O\nB S-LOC\nLos O\nAngeles E-LOC\n",
    "line 5: tag 'E-LOC' between 'O' and 'O'; expected B-LOC or S-LOC, as the file's tags are"
    " BIOES",
  ),
  (
    "A S-LOC\nof O\nB S-LOC\nLos B-LOC\n\nAngeles O\n",
    "line 4: tag 'B-LOC' between 'S-LOC' and 'O'; expected I-LOC or E-LOC after it, as the file's"
    " tags are BIOES",
  ),
]


@pytest.mark.parametrize(("text", "fault"), FAULTS)
def test_bad_columns(tmp_path, text, fault):
  path = written(tmp_path, text)
  with pytest.raises(InputError) as found:
    read(path, Faults())
  remedy = "; --repair-tags (in training --set task.repair_tags=true) reads it as conlleval does"
  assert str(found.value) == f"{path}: {fault}{remedy * ('file' in fault)}"


def test_bad_documents_are_skipped_and_all_their_faults_told(tmp_path):
  text = "-DOCSTART-\n\nA B-X\nB Y\n\nC I-X extra\n\n-DOCSTART-\n\nD B-X\n\n-DOCSTART-\n\nE I-X\n"
  faults = Faults(skip=True)
  (example,) = read(written(tmp_path, text), faults)
  assert (example.id, named(example)) == ("2", [("D", "X")])
  lines = [str(fault).split(": ")[1] for fault in faults.found]
  assert lines == ["line 4", "line 6", "line 14"]


def test_json_lines_of_text():
  text = " Ana's here.  In Los Angeles!"
  value = {"text": text, "spans": [[1, 4, "PER"], [17, 28, "LOC"]]}
  example = parse(value, "a", "p")
  split = [[text[start:end] for start, end in sentence] for sentence in example.sentences]
  assert split == [["Ana", "'s", "here", "."], ["In", "Los", "Angeles", "!"]]
  assert named(example) == [("Ana", "PER"), ("Los Angeles", "LOC")]
  predicted = [Span(text[a:b], a, b, label, 0.5)._asdict() for a, b, label in value["spans"]]
  assert parse({"text": text, "spans": predicted}, "a", "p") == example


def test_json_lines_of_tokens():
  value = {
    "tokens": ["Ana", "'s", "here", "In", "Los", "Angeles"],
    "sentences": [[0, 3], [3, 6]],
    "spans": [[0, 1, "PER"], [4, 6, "LOC"]],
  }
  example = parse(value, "a", "p")
  assert example.text == " Ana's here In Los Angeles"
  assert [len(sentence) for sentence in example.sentences] == [3, 3]
  assert named(example) == [("Ana", "PER"), ("Los Angeles", "LOC")]
  assert to_json(example) == {"id": "a", **value}
  assert len(parse({"tokens": ["a", "b"]}, "a", "p").sentences) == 1


@pytest.mark.parametrize(
  ("value", "fault"),
  [
    ({}, "no text; expected text or tokens"),
    ({"text": "a", "span": []}, "span: no such field; expected perhaps spans"),
    ({"text": "a b", "spans": [[0, 1]]}, "spans: [0, 1]; expected [start, end, label]"),
    ({"text": "a b", "spans": [[2, 1, "x"]]}, "spans: [2, 1, 'x']; expected [start, end, label]"),
    ({"text": "a b", "spans": [[0, 1, ""]]}, "spans: [0, 1, '']; expected [start, end, label]"),
    ({"text": "a", "spans": [[0, True, "X"]]}, "spans: [0, True, 'X']; expected [start, end, "),
    ({"text": "a", "spans": [{"start": 0, "label": "X"}]}, "spans: {'start': 0, 'label': 'X'}; "),
    ({"text": "a", "spans": "X"}, "spans: 'X'; expected a list"),
    ({"text": "a", "spans": [[0, 2, "X"]]}, "spans: [0, 2]; expected 0 <= start < end <= 1"),
    ({"tokens": ["ab"], "spans": [[0, 2, "X"]]}, "spans: [0, 2]; expected 0 <= start < end <= 1"),
    ({"text": "a", "spans": [[0, 1, "X"], [0, 1, "Y"]]}, "spans: [0, 1] twice; expected"),
    ({"text": "a b", "sentences": [[0, 1]]}, "sentences: [1, 3] is in none; expected"),
    ({"text": "a b", "sentences": [[0, 2], [1, 3]]}, "sentences: [1, 2] is in two; expected them"),
    ({"tokens": ["a", "b"], "sentences": [[1, 2]]}, "sentences: [0, 1] is in none; expected them"),
    ({"tokens": ["\ud800"]}, "tokens: half a surrogate pair; expected Unicode text"),
    ({"tokens": ["a", ""]}, "word 1: ''; expected a string that is not empty"),
  ],
)
def test_bad_objects(value, fault):
  with pytest.raises(InputError) as found:
    parse(value, "a", "f: line 3")
  assert str(found.value).startswith(f"f: line 3: {fault}")


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_the_sample_task_is_the_same_in_both_forms(split):
  folder = Path(__file__).parents[3] / "data/sample_tasks/ner"
  lines, columns = (read(folder / f"{split}.{form}", Faults()) for form in ("jsonl", "conll"))
  for one, other in zip(lines, columns, strict=True):
    assert len(one.sentences) == len(other.sentences)
    found = [[(text.replace(" ", ""), label) for text, label in named(x)] for x in (one, other)]
    assert found[0] == found[1]
    assert None not in to_words(one, one.spans)


def test_a_broken_line(tmp_path):
  path = written(tmp_path, '{"text": "a"}\n{"text"\n', "a.jsonl")
  with pytest.raises(InputError, match=r"line 2: .*; expected a JSON object"):
    read(path, Faults())
  faults = Faults(skip=True)
  assert [example.text for example in read(path, faults)] == ["a"]
  assert len(faults.found) == 1


@given(st.text(st.sampled_from("Abé's. \n!9")), st.data())
def test_text_there_and_back(text, data):
  example = parse({"text": text}, "a", "p")
  if example.words:
    first = data.draw(st.integers(0, len(example.words) - 1))
    span = [example.words[first][0], example.words[-1][1], "X"]
    example = parse({"text": text, "spans": [span]}, "a", "p")
  assert parse(json.loads(json.dumps(to_json(example))), "a", "p") == example


WORD = st.text(st.sampled_from("Abé's.-"), min_size=1, max_size=4)


@given(st.lists(st.lists(WORD, min_size=1), min_size=1))
def test_words_there_and_back(tmp_path_factory, sentences):
  tokens = [word for sentence in sentences for word in sentence]
  edges = itertools.accumulate(map(len, sentences), initial=0)
  value = {"tokens": tokens, "sentences": list(map(list, itertools.pairwise(edges)))}
  value["spans"] = [[start, end, "X"] for start, end in value["sentences"]]
  example = parse(value, "1", "p")
  assert parse(to_json(example), "1", "p") == example
  predicted = [Span("", *span[:2], "X", 1.0) for span in example.spans]
  path = tmp_path_factory.mktemp("columns") / "a.conll"
  path.write_text("\n".join(to_columns([example], [predicted], "IOB1")), encoding="utf-8")
  (again,) = read(path, Faults())
  assert dataclasses.replace(again, place="p", lines=()) == example


def test_columns_as_conlleval_reads_them(tmp_path):
  examples = read(written(tmp_path, CONLL), Faults())
  start = examples[0].text.index("German")
  predictions = [[Span("German call", start, start + 11, "MISC", 0.9)], []]
  assert list(to_columns(examples, predictions)) == [
    "-DOCSTART- O O",
    "",
    "EU B-ORG O",
    "rejects O O",
    "German B-MISC B-MISC",
    "call O I-MISC",
    ". O O",
    "",
    "Peter B-PER O",
    "Blackburn I-PER O",
    "",
    "-DOCSTART- O O",
    "",
    "Rome B-LOC O",
    "Oslo B-LOC O",
    "",
  ]


@pytest.mark.parametrize(
  ("value", "fault"),
  [
    ({"text": "ab", "spans": [[0, 1, "X"]]}, "spans that are not whole words of a sentence: 1; "),
    ({"text": "a", "spans": [[0, 1, "X Y"]]}, "'B-X Y'; expected no white space, for columns"),
    ({"text": "a b", "spans": [[0, 1, "X"], [0, 3, "Y"]]}, "a span in another, Y; expected them"),
    ({"tokens": ["a\tb"], "spans": []}, "'a\\tb'; expected no white space, for columns"),
    ({"tokens": ["a "], "spans": []}, "'a '; expected no white space, for columns"),
  ],
)
def test_what_columns_cannot_say(value, fault):
  with pytest.raises(InputError) as found:
    list(to_columns([parse(value, "a", "here")], [[]]))
  assert str(found.value).startswith(f"here: {fault}")
