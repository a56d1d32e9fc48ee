"""Questions that rules make hard: each way does what it says, and leaves alone what it cannot."""

import json
import random
from types import SimpleNamespace

import numpy as np
import pytest

from data.english import harder, rephrased
from data.english.between import between
from data.english.harder import Asked, passage_of

TEXT = (
  "Ana Sousa founded Acme in 1950 in Porto. The mill was built by Bo Lind in 1960."
  " After the strike, Bo Lind wrote the report. Dora Maar, the director of the museum, left Lisbon."
)
NAMES = [
  ("Ana Sousa", "PER"),
  ("Acme", "ORG"),
  ("Porto", "LOC"),
  ("Bo Lind", "PER"),
  ("Dora Maar", "PER"),
  ("Lisbon", "LOC"),
]


@pytest.fixture
def rng():
  return random.Random(0)


@pytest.fixture
def passage():
  return passage_of(TEXT, NAMES)


def asked(question, answer="1950"):
  return Asked(question, [answer], passage_of(TEXT, NAMES).tells([answer]))


def test_names_of_one_kind_change_places(passage, rng):
  question = asked("When did Bo Lind thank Ana Sousa?")
  assert harder.swapped(question, passage, rng) == "When did Ana Sousa thank Bo Lind?"
  assert harder.swapped(asked("When did Bo Lind see Acme?"), passage, rng) == ""
  assert harder.swapped(asked("Did Bo Lind and Ana Sousa meet?"), passage, rng) == ""


def test_another_name_is_of_another_sentence_and_of_the_same_kind(passage, rng):
  question = asked("When did Ana Sousa found Acme?")
  found = {harder.other_name(question, passage, rng) for _ in range(9)}
  assert found <= {"When did Bo Lind found Acme?", "When did Dora Maar found Acme?", ""}
  assert len(found) > 1  # Acme is the only organization


def test_a_near_word_is_not_in_the_passage(passage, rng):
  found = {
    harder.relation(asked("Who founded Acme?", "Ana Sousa"), passage, rng) for _ in range(40)
  }
  assert "Who bought Acme?" in found and "Who directed Acme?" not in found  # "director" is there
  assert harder.relation(asked("Is it so?"), passage, rng) == ""


def test_a_year_is_of_another_sentence_or_of_none(passage, rng):
  question = asked("Who founded Acme in 1950?", "Ana Sousa")
  found = {harder.number(question, passage, rng) for _ in range(40)}
  assert "Who founded Acme in 1960?" in found and question.text not in found
  found = {harder.number(asked("Who founded Acme?", "Ana Sousa"), passage, rng) for _ in range(40)}
  assert {"Who founded Acme in 1960?", "In 1960, who founded Acme?"} <= found
  assert not any("1950" in x for x in found)
  assert harder.number(asked("When was it?"), passage, rng) == ""


def test_an_event_has_no_word_in_the_passage(passage, rng):
  found = {harder.event(asked("Who founded Acme?"), passage, rng) for _ in range(300)}
  assert {"Who founded Acme after the fire?", "After the fire, who founded Acme?"} <= found
  assert not any("strike" in x for x in found)


def test_something_else_is_asked_of_a_sentence_that_does_not_tell_it(passage, rng):
  question = asked("When did Ana Sousa found Acme?")
  assert harder.attribute(question, passage, rng) == "Why did Ana Sousa found Acme?"
  told = "Bo built the mill because of the flood."
  found = {rephrased.asked_otherwise("Who built the mill?", ["Bo"], told, rng) for _ in range(9)}
  assert found == {"When was the mill built?", "Where was the mill built?"}


def test_other_words_keep_what_is_asked(passage, rng):
  found = {harder.same(asked("When did Ana Sousa start?"), passage, rng) for _ in range(60)}
  assert {"In which year did Ana Sousa begin?", "When did Ana Sousa begin?"} <= found
  found = {harder.same(asked("When was it over?", "noon"), passage, rng) for _ in range(9)}
  assert found == {"When was it over?"}  # no year
  found = {harder.same(asked("Who built the mill?", "Bo Lind"), passage, rng) for _ in range(60)}
  assert {"By whom was the mill erected?", "Which person constructed the mill?"} <= found


def test_a_circumstance_of_the_same_sentence_is_known(rng):
  told = "After the strike, Bo Lind wrote the report."
  found = {rephrased.with_circumstance("Who wrote it?", ["Bo Lind"], told, rng) for _ in range(9)}
  assert found == {"Who wrote it after the strike?", "After the strike, who wrote it?"}
  assert rephrased.with_circumstance("After what?", ["the strike"], told, rng) == ""


def test_short_questions_are_told_by_a_sentence():
  found = {question: TEXT[start:end] for question, start, end in rephrased.told(TEXT, NAMES)}
  assert found["Who built the mill?"] == "Bo Lind"
  assert found["When was the mill built?"] == "1960"
  assert found["Who was the director of the museum?"] == "Dora Maar"


def test_questions_of_training_and_dev_are_written_as_squad(tmp_path, monkeypatch, capsys):
  question = {
    "id": "7",
    "question": "When did Ana Sousa found Acme?",
    "answers": [{"text": "1950", "answer_start": TEXT.index("1950")}],
    "is_impossible": False,
  }
  none = {"id": "7-cut", "question": "Who sang?", "answers": [], "is_impossible": True}
  paragraphs = [{"context": TEXT, "qas": [question]}, {"context": "Short.", "qas": [none]}]
  (tmp_path / "qa").mkdir()
  for split in ("train", "dev"):
    articles = {"data": [{"title": "A", "paragraphs": paragraphs}]}
    (tmp_path / "qa" / f"all_{split}.json").write_text(json.dumps(articles), encoding="utf-8")
  finder = SimpleNamespace(
    predict=lambda texts: [[SimpleNamespace(text=x, label=k) for x, k in NAMES] for _ in texts]
  )
  monkeypatch.setattr(harder.luke_jax, "load", lambda _: finder)
  harder.main(tmp_path / "qa")
  assert "as it is 1" in capsys.readouterr().out
  written = json.loads((tmp_path / "qa" / "harder_train.json").read_text(encoding="utf-8"))
  every = [q for p in written["data"][0]["paragraphs"] for q in p["qas"]]
  assert len({q["id"] for q in every}) == len(every) > 4
  assert all(q["is_impossible"] == (not q["answers"]) for q in every)
  for q in every:
    assert all(TEXT[a["answer_start"] :].startswith(a["text"]) for a in q["answers"])


def test_the_tables_are_well_formed():
  for kind in ("same", "other", "ask"):
    assert all(word not in others and all(others) for word, others in harder.near(kind).items())
  assert set(harder.asks()) == {"PER", "ORG", "LOC", "THING", "with"}
  for kind, rows in harder.asks().items():
    assert all((question.count("{}") == 1) == (kind != "with") for question, _ in rows)


def test_what_did_not_change_stays_to_the_bit():
  first, second = np.float32([0, 1]), np.float32([1, 1])
  assert between(first, second, 0.75).tolist() == [0.75, 1]
  assert between(second, second, 0.3) is second
