"""Files of questions: JSON lines and SQuAD's JSON, read, written and refused."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.formats.records import to_json
from luke_jax.tasks.qa.files import EntityReference, QuestionExample, parse, read

TEXT = "Beyoncé lives in Los Angeles. Tokyo is far."
LINE = {"id": "q", "text": TEXT, "question": "Who lives there?", "answers": [[0, 7]]}


def squad(**question):
  asked = {"id": "a", "question": "Who?", "answers": [{"text": "Tokyo", "answer_start": 30}]}
  paragraph = {"context": TEXT, "qas": [asked | question]}
  return {"version": "1.1", "data": [{"title": "Los_Angeles", "paragraphs": [paragraph]}]}


def written(folder, name, content):
  path = folder / name
  if not isinstance(content, str):
    content = json.dumps(content) if name.endswith(".json") else "\n".join(map(json.dumps, content))
  path.write_text(content, encoding="utf-8")
  return path


def test_a_line_of_everything(tmp_path):
  line = LINE | {
    "title": "Beyoncé",
    "entities": [[0, 7, "Beyoncé"], [17, 28, "Los Angeles"]],
    "question_entities": [[4, 9, "Life"]],
    "answers": [[0, 7], [17, 28], [0, 7]],
    "meta": {"any": 1},
  }
  (example,) = read(written(tmp_path, "a.jsonl", [line]), Faults())
  assert example == QuestionExample(
    "q",
    f"{tmp_path / 'a.jsonl'}: line 1",
    TEXT,
    "Who lives there?",
    ((0, 7), (17, 28)),
    "Beyoncé",
    (EntityReference(0, 7, "Beyoncé"), EntityReference(17, 28, "Los Angeles")),
    (EntityReference(4, 9, "Life"),),
  )


def test_the_language_of_a_file_of_mlqa_is_that_of_its_contexts(tmp_path):
  def language(name, *options):
    (example,) = read(written(tmp_path, name, squad()), Faults(), *options)
    return example.language

  assert language("test-context-de-question-ar.json", "es") == "de"  # G-XLT: Arabic asks German
  assert language("xquad.ru.json") == language("dev-v1.1.json") == ""
  assert language("xquad.es.json", "es") == "es"
  with pytest.raises(
    InputError, match=r"de.json: 'tr': no language of MLQA; expected one of ar, de"
  ):
    language("test-context-tr-question-de.json")
  lines = [LINE | {"language": "vi"}, LINE | {"id": "r"}]
  assert [x.language for x in read(written(tmp_path, "a.jsonl", lines), Faults(), "hi")] == [
    "vi",
    "hi",
  ]


def test_what_may_be_missing(tmp_path):
  lines = [{"text": TEXT, "question": "?"}, {"text": TEXT, "question": "?", "answers": []}]
  unknown, none = read(written(tmp_path, "a.jsonl", lines), Faults())
  assert (unknown.id, unknown.answers, unknown.entities, unknown.title) == ("1", None, None, None)
  assert (none.id, none.answers) == ("2", ())


def test_spans_of_tokens(tmp_path):
  line = {"tokens": ["A", "far", "city", "."], "question": "Is it far?", "answers": [[1, 3]]}
  line |= {"entities": [[2, 3, "City"]], "question_entities": [[6, 9, "Distance"]]}
  (example,) = read(written(tmp_path, "a.jsonl", [line]), Faults())
  assert example.text == "A far city ."
  assert example.answers == ((2, 10),)
  assert example.entities == (EntityReference(6, 10, "City"),)
  assert example.question_entities == (EntityReference(6, 9, "Distance"),)


@given(st.data())
def test_round_trip(data):
  letters = st.text("ab é𝄞\n", min_size=1, max_size=12)
  text, question = data.draw(letters), data.draw(letters.filter(str.strip))

  def spans(of):
    places = [(i, j) for i in range(len(of)) for j in range(i + 1, len(of) + 1) if of[i:j].strip()]
    drawn = data.draw(st.lists(st.sampled_from(places), unique=True)) if places else []
    return tuple(drawn)

  def links(of):
    if data.draw(st.booleans()):
      return None
    return tuple(EntityReference(*span, data.draw(st.text(max_size=3))) for span in spans(of))

  answers = data.draw(st.sampled_from([None, spans(text)]))
  title = data.draw(st.none() | st.just("T"))
  example = QuestionExample(
    "7", "here", text, question, answers, title, links(text), links(question)
  )
  assert parse(json.loads(json.dumps(to_json(example))), "7", "here") == example


def test_squad(tmp_path):
  value = squad()
  second = {"id": "b", "question": "Where?", "answers": [], "is_impossible": True}
  second["plausible_answers"] = [{"text": "Tokyo", "answer_start": 30}]
  value["data"][0]["paragraphs"][0]["qas"] += [second, {"id": "c", "question": "What?"}]
  one, two, three = read(written(tmp_path, "dev.json", value), Faults())
  assert (one.id, one.question, one.title, one.text) == ("a", "Who?", "Los_Angeles", TEXT)
  assert [one.answers, two.answers, three.answers] == [((30, 35),), (), None]
  assert one.place == f"{tmp_path / 'dev.json'}: article 1: question 'a'"


@pytest.mark.parametrize(
  ("change", "message"),
  [
    ({"question": " "}, "question: empty; expected a question"),
    ({"question": None}, "question: None; expected a string"),
    ({"anwers": []}, "anwers: no such field; expected perhaps answers"),
    ({"answers": None}, "answers: None; expected a list"),
    ({"answers": [[0, 99]]}, "answers: [0, 99]; expected 0 <= start < end <= 43, characters"),
    ({"answers": [[7, 8]]}, "answers: [7, 8]: white space alone; expected words"),
    ({"entities": [[0, 7]]}, "entities: [0, 7]; expected [start, end, title]"),
    ({"entities": [[7, 8, "A"]]}, "entities: [7, 8]: white space alone; expected words"),
    ({"question_entities": [[0, 17, "A"]]}, "question_entities: [0, 17]; expected 0 <= start"),
    ({"title": 3}, "title: 3; expected a string"),
  ],
)
def test_bad_lines(tmp_path, change, message):
  path = written(tmp_path, "a.jsonl", [LINE, LINE | {"id": "z"} | change])
  with pytest.raises(InputError) as fault:
    read(path, Faults())
  assert str(fault.value).startswith(f"{path}: line 2: {message}")
  faults = Faults(skip=True)
  assert [example.id for example in read(path, faults)] == ["q"]
  assert len(faults.found) == 1


@pytest.mark.parametrize(
  ("change", "message"),
  [
    (
      {"answers": [{"text": "Tokio", "answer_start": 30}]},
      "question 'a': answer 'Tokio': at 30 stands 'Tokyo'; expected the answer",
    ),
    ({"answers": [{"text": "Tokyo"}]}, "question 'a': answer_start: None; expected a whole"),
    (
      {"answers": [{"text": "", "answer_start": 3}]},
      "question 'a': answers: [3, 3]; expected 0 <=",
    ),
    ({"answers": ["Tokyo"]}, "question 'a': answers: no list of objects; expected SQuAD's JSON"),
    ({"answers": []}, "question 'a': is_impossible: None, 0 answers; expected"),
    ({"is_impossible": True}, "question 'a': is_impossible: True, 1 answers; expected"),
    ({"id": 7}, "id: 7; expected a string"),
    ({"question": 7}, "question 'a': question: 7; expected a string"),
  ],
)
def test_bad_questions_of_squad(tmp_path, change, message):
  value, good = squad(**change), squad(id="b")
  value["data"][0]["paragraphs"] += good["data"][0]["paragraphs"]
  path = written(tmp_path, "dev.json", value)
  with pytest.raises(InputError) as fault:
    read(path, Faults())
  assert str(fault.value).startswith(f"{path}: article 1: {message}")
  assert [example.id for example in read(path, Faults(skip=True))] == ["b"]


def test_bad_files(tmp_path):
  twice = squad()
  twice["data"] *= 2
  for content, message in (
    ("[1", r"dev\.json: .*; expected JSON"),
    ([1], r"dev\.json: data: no list of objects; expected SQuAD's JSON"),
    ({"data": [1]}, r"dev\.json: data: no list of objects"),
    ({"data": [{}]}, r"article 1: paragraphs: missing; expected a list"),
    ({"data": [{"paragraphs": [{"qas": []}]}]}, r"article 1: context: missing; expected a string"),
    (twice, r"article 2: question 'a': a second of that id; expected it once"),
  ):
    with pytest.raises(InputError, match=message) as fault:
      read(written(tmp_path, "dev.json", content), Faults())
    assert "\n" not in str(fault.value)
  with pytest.raises(InputError, match=r"none\.json: no such file"):
    read(Path(tmp_path / "none.json"), Faults())
