"""The model card says what is recorded, that the rest is not, and what the hub reads."""

import dataclasses
import functools
import json

import hypothesis
import pytest
import yaml
from hypothesis import strategies as st
from tiny import tiny_model

import luke_jax
from luke_jax.convert.card import (
  ORIGIN,
  UNMEASURED,
  card_facts,
  model_card,
  with_record,
  write_parity,
)
from luke_jax.errors import InputError

CLASSIFIER = "LukeForEntityClassification"
RECORD = {
  "data": [
    {"split": "train", "file": "train.jsonl", "examples": 1200, "sha256": "ab12"},
    {"split": "dev", "file": "dev.jsonl", "examples": 40, "sha256": None},
  ],
  "task": "typing",
  "step": 300,
  "steps": 900,
  "seconds": 61.2,
  "seed": 7,
  "hardware": "8 x TPU v5e",
  "versions": {"jax": "0.10.2"},
  "revision": "",
  "finished": "2026-11-21T10:00:00+00:00",
  "start": {"name": "luke-base", "license": "apache-2.0", "language": "en"},
  "settings": {"optimizer.learning_rate": 1e-05, "run.best_metric": "f1"},
  "scores": {"dev": {"f1": 0.75, "examples": 40}, "test": {"f1": 0.7}},
}


@functools.cache
def classifier():
  return tiny_model(CLASSIFIER)


def head(card):
  opening, text, _ = card.split("---\n", 2)
  assert opening == ""
  return yaml.safe_load(text)


def section(card, title):
  return card.partition(f"\n## {title}\n")[2].partition("\n## ")[0].strip()


def test_what_is_not_recorded_is_said_to_be_not_recorded():
  card = model_card(tiny_model(CLASSIFIER))
  assert "| started from | not recorded |" in card
  assert section(card, "Training") == "How it was trained is not recorded."
  assert section(card, "Scores") == "Scores of this model are not recorded."
  assert section(card, "Licence") == "It is not known here."
  assert "No evaluation is recorded" in section(card, "Limits")
  assert section(card, "Parity with PyTorch") == UNMEASURED
  assert head(card) == {
    "library_name": "transformers",
    "pipeline_tag": "text-classification",
    "tags": ["luke", "luke_jax", "text-classification"],
    "license": "unknown",
  }


def test_a_run_that_started_from_nothing_says_so():
  card = model_card(with_record(tiny_model(CLASSIFIER), {**RECORD, "start": None, "steps": 9000}))
  assert "| started from | nothing: random parameters |" in card
  assert "| step of this checkpoint | 300 of 9,000 |" in card


def test_a_run_tells_all_that_it_has_recorded():
  card = model_card(with_record(tiny_model(CLASSIFIER), RECORD))
  training = section(card, "Training").splitlines()
  for row in (
    "| train | train.jsonl | 1,200 | `ab12` |",
    "| dev | dev.jsonl | 40 | `not recorded` |",
    "| seed | 7 |",
    "| step of this checkpoint | 300 of 900 |",
    "| time of the run | 61 s |",
    "| hardware | 8 x TPU v5e |",
    "| versions | jax 0.10.2 |",
    "| revision of the code | not recorded |",
    "| `optimizer.learning_rate` | `1e-05` |",
  ):
    assert row in training
  assert section(card, "Scores").splitlines()[2:] == ["| dev | 40 | 0.75 |", "| test |  | 0.7 |"]
  assert "| started from | luke-base |" in card
  assert section(card, "Licence") == (
    "That of luke-base, by its card: apache-2.0."
    " That of the data it was trained on is not recorded."
  )
  limits = section(card, "Limits")
  assert "Scored on dev and test of the data above and on nothing else" in limits
  assert "the one with the best f1 on dev" in limits


def test_the_hub_reads_the_scores():
  found = head(model_card(with_record(tiny_model(CLASSIFIER), RECORD)))
  assert (found["license"], found["language"]) == ("apache-2.0", ["en"])
  assert found["metrics"] == ["examples", "f1"]
  (index,) = found["model-index"]
  dev, test = index["results"]
  assert dev["task"] == {"type": "text-classification"}
  assert dev["dataset"] == {"name": "dev.jsonl", "type": "dev.jsonl", "split": "dev"}
  assert dev["metrics"][1] == {"type": "f1", "value": 0.75}
  assert test["dataset"]["name"] == "test"


def test_a_record_goes_with_the_model(tmp_path):
  with_record(tiny_model(CLASSIFIER), RECORD).save(tmp_path / "a")
  luke_jax.load(tmp_path / "a").save(tmp_path / "b", dtype="bfloat16")
  cards = [(tmp_path / name / "README.md").read_text(encoding="utf-8") for name in "ab"]
  assert cards[0] == cards[1]
  config = json.loads((tmp_path / "b" / "config.json").read_text(encoding="utf-8"))
  assert config["luke_jax"]["run"] == RECORD


def test_a_record_leaves_the_others_alone():
  model = dataclasses.replace(tiny_model(), rest={"luke_jax": {"task": "ner"}, "more": 1})
  kept = with_record(model, RECORD).rest
  assert kept == {"luke_jax": {"task": "ner", "run": RECORD}, "more": 1}
  assert with_record(dataclasses.replace(model, rest={"luke_jax": 3}), RECORD).rest["luke_jax"]


@pytest.mark.parametrize("rest", [{}, {"luke_jax": []}, {"luke_jax": {"run": "x", "origin": 2}}])
def test_what_is_no_record_is_none(rest):
  model = dataclasses.replace(tiny_model(), rest=rest)
  assert model_card(model) == model_card(tiny_model())


@hypothesis.given(st.text(max_size=20), st.text(max_size=10))
def test_any_name_makes_a_head_that_parses_and_rows_that_hold(name, metric):
  data = [{"split": "dev", "file": name, "examples": 1, "sha256": "a"}]
  record = RECORD | {"data": data, "scores": {"dev": {metric: 0.5}}}
  card = model_card(with_record(classifier(), record))
  found = head(card)
  result = found["model-index"][0]["results"][0]
  assert result["dataset"]["name"] == (name or "dev")
  assert result["metrics"] == [{"type": metric, "value": 0.5}]
  rows = [x for x in section(card, "Training").splitlines() if x.startswith("| dev |")]
  assert len(rows) == 1
  assert rows[0].replace("\\|", "").count("|") == 5


def test_a_copy_of_anothers_model_has_its_licence():
  origin = {"name": "mluke-base", "license": "mit"}
  card = model_card(with_record(tiny_model(), origin, ORIGIN))
  assert section(card, "Licence") == "That of mluke-base, by its card: mit."
  assert section(card, "Training") == "How it was trained is not recorded."
  assert head(card)["license"] == "mit"


def test_the_box_records_the_licences_of_its_data():
  record = RECORD | {"data_licence": "CrossNER, MIT"}
  assert section(model_card(with_record(classifier(), record)), "Licence").endswith(
    "That of the data it was trained on: CrossNER, MIT."
  )


def test_what_a_card_says_of_its_licence(tmp_path):
  assert card_facts(tmp_path) == {}
  card = tmp_path / "README.md"
  for text, told in (
    ("---\nlanguage: ja\nlicense: apache-2.0\ntags:\n- x\n---\nlicense: mit", True),
    ("license: mit\n", False),
    ("---\nlicense: unknown\n---\n", False),
    ("---\nlicense: [a, b]\nlanguage:\n- en\n---\n", False),
  ):
    card.write_text(text, encoding="utf-8")
    assert card_facts(tmp_path) == ({"language": "ja", "license": "apache-2.0"} if told else {})
  card.write_bytes(b"---\nlicense: \xff\n---\n")
  assert card_facts(tmp_path) == {}


def test_parity_takes_its_place_and_only_that(tmp_path):
  tiny_model().save(tmp_path)
  card = tmp_path / "README.md"
  before = card.read_text(encoding="utf-8")
  write_parity(tmp_path, "equal: all of it")
  write_parity(tmp_path, "equal: 1e-6")
  assert card.read_text(encoding="utf-8") == before.replace(UNMEASURED, "equal: 1e-6")


@pytest.mark.parametrize("text", [None, "# Mine\n"])
def test_a_card_of_others_is_left_as_it_is(text, tmp_path):
  card = tmp_path / "README.md"
  if text is not None:
    card.write_text(text, encoding="utf-8")
  with pytest.raises(InputError, match="expected a model card of luke_jax"):
    write_parity(tmp_path, "equal")
  assert card.exists() is (text is not None)


@pytest.mark.parametrize(
  ("architecture", "fields", "said"),
  [
    (CLASSIFIER, {}, f"from transformers import {CLASSIFIER}\n"),
    ("LukeForCloze", {}, "without the head (`scorer`), which transformers lacks:"),
    ("LukeForMaskedLM", {"word_positions": "bert"}, "transformers has no LUKE with BERT's"),
  ],
)
def test_pytorch_is_promised_only_what_it_can_do(architecture, fields, said):
  card = model_card(tiny_model(architecture, **fields))
  assert said in section(card, "Use")
  assert "import LukeForCloze" not in card
