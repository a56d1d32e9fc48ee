"""The texts and questions that were written by hand to be hard: complete and well-formed."""

import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from data.english.asked import read
from data.hard_questions.make import QUESTIONS, main

PAIRS = Path(__file__).parents[2] / "data" / "hard_facts" / "pairs.jsonl"
TYPES = {"PER", "ORG", "LOC", "TIME", "NUM", "MISC"}
FORMS = {
  16: {"not", "never", "denied", "without"},
  17: {"refused", "no longer", "instead of", "would have", "asked", "claimed", "failed", "nearly"},
}
KINDS = {
  **{"plain": 34, "paraphrased": 33, "multi-clause": 33},
  **{"swapped": 17, "relation": 17, "number": 17, "absent": 17, "event": 16, "attribute": 16},
}
ANSWERED = {"plain", "paraphrased", "multi-clause"}


@pytest.fixture(scope="module")
def facts():
  return [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]


def test_names_lie_in_their_text_apart_and_have_head_and_tail(facts):
  for fact in facts:
    text, names = fact["text"], fact["names"]
    assert [*fact["head"], fact["head_type"]] in names
    assert [*fact["tail"], fact["tail_type"]] in names
    assert fact["head"] != fact["tail"]
    for start, end, type in names:
      assert 0 <= start < end <= len(text)
      assert text[start:end].strip() == text[start:end]
      assert type in TYPES
    assert all(first[1] <= second[0] for first, second in pairwise(names))


def test_each_pair_affirms_and_denies_one_relation_of_a_name(facts):
  pairs = defaultdict(list)
  for fact in facts:
    pairs[fact["pair"]].append(fact)
  assert list(pairs) == list(range(1, 201))
  for number, (affirmed, denied) in pairs.items():
    assert (affirmed["id"], denied["id"]) == (f"{number}-affirmed", f"{number}-denied")
    assert (affirmed["holds"], denied["holds"]) == (True, False)
    assert affirmed["relation"] == denied["relation"]
    assert any(name_of(affirmed, end) == name_of(denied, end) for end in ("head", "tail"))
  assert len({fact["text"] for fact in facts}) == 400


def name_of(fact, end):
  start, stop = fact[end]
  return fact["text"][start:stop]


def test_forms_are_as_many_as_the_table_has(facts):
  forms = {form: count for count, row in FORMS.items() for form in row}
  assert Counter(fact["form"] for fact in facts) == {"plain": 200, **forms}
  assert all((fact["form"] == "plain") == fact["holds"] for fact in facts)
  assert len({fact["relation"] for fact in facts}) == 62


def test_questions_have_an_answer_or_none_by_their_kind():
  rows = read(QUESTIONS)
  assert Counter(row["kind"] for row in rows) == KINDS
  assert all(bool(row["answer"]) == (row["kind"] in ANSWERED) for row in rows)
  assert all(row["split"] == "test" and row["question"].endswith("?") for row in rows)
  assert len({row["passage begins"] for row in rows}) == 80
  assert len({row["question"] for row in rows}) == len(rows)


def test_questions_become_a_file_of_squad(tmp_path):
  """Passages made of their first words and answers stand in for SQuAD's."""
  texts = defaultdict(list)
  for row in read(QUESTIONS):
    texts[row["passage begins"]].append(row["answer"])
  paragraphs = [{"context": " ".join([begins, *answers])} for begins, answers in texts.items()]
  path = tmp_path / "squad" / "dev-v1.1.json"
  path.parent.mkdir()
  path.write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}), encoding="utf-8")
  main(tmp_path, tmp_path)
  written = json.loads((tmp_path / "qa" / "hard_test.json").read_text(encoding="utf-8"))
  asked = [p["qas"][0] for p in written["data"][0]["paragraphs"]]
  assert len(asked) == 200
  assert sum(question["is_impossible"] for question in asked) == 100
  assert {question["id"].rpartition("-")[0] for question in asked} == set(KINDS)
