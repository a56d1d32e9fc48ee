"""Triples: which names are paired, what is kept, and how places become facts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.cli import main
from luke_jax.inference import triples
from luke_jax.inference.triples import APART, Extractor, Name, Triple, _pairs, merged
from luke_jax.tasks.predictions import Link, Mention, Relation, Span

TEXT = "Ana married Bo in Castrel. Chad won."
WHERE = {"Ana": (0, 3), "Bo": (12, 14), "Castrel": (18, 25), "Chad": (27, 31)}


def name(text, **meant):
  return Name(text, *WHERE.get(text, (0, len(text))), "PER", **meant)


def test_names_of_a_sentence_are_paired_in_both_orders():
  names = [name(x) for x in WHERE]
  pairs = [(x.head.text, x.tail.text) for x in _pairs(0, TEXT, names)]
  assert len(pairs) == 6 and ("Ana", "Bo") in pairs and ("Bo", "Ana") in pairs
  assert not any("Chad" in pair for pair in pairs)
  assert {TEXT[slice(*x.sentence)].strip() for x in _pairs(0, TEXT, names)} == {
    "Ana married Bo in Castrel."
  }


@given(st.integers(0, 40))
def test_pairs_grow_as_names_do(count):
  text = ", ".join(f"N{i:02}" for i in range(count))
  names = [Name(f"N{i:02}", 5 * i, 5 * i + 3, "PER") for i in range(count)]
  pairs = list(_pairs(0, text, names))
  assert len(pairs) <= 2 * count * (APART + 1)
  assert all(abs(x.head.start - x.tail.start) <= 5 * (APART + 1) for x in pairs)


def test_the_same_thing_twice_is_no_pair():
  names = [name("Ana", item="Q1"), name("Bo", item="Q1")]
  assert not list(_pairs(0, TEXT, names))


@pytest.mark.parametrize(
  ("one", "other", "same"),
  [
    ({"text": "The U.S."}, {"text": "u s"}, True),
    ({"text": "Ana"}, {"text": "Bo"}, False),
    ({"text": "Ana", "item": "Q1"}, {"text": "Sousa", "item": "Q1"}, True),
    ({"text": "Ana", "title": "Ana (poet)"}, {"text": "Ana", "title": "Ana (ship)"}, False),
  ],
)
def test_names_mean_the_same_by_item_title_or_words(one, other, same):
  assert (name(**one).key == name(**other).key) == same


def triple(head, tail, score, relation="spouse"):
  return Triple(head, relation, tail, score, (0, 26))


def test_facts_have_all_their_places_and_the_usual_name():
  ana, sousa = name("Ana", item="Q1"), name("A. Sousa", item="Q1")
  found = [
    ("1", [triple(sousa, name("Bo"), 0.9), triple(name("Bo"), ana, 0.8)]),
    ("2", [triple(ana, name("Bo"), 0.7), triple(ana, name("bo"), 0.6)]),
  ]
  first, second = merged(found)
  assert (first.head.text, first.tail.text, first.score) == ("Ana", "Bo", 0.9)
  assert [x.id for x in first.evidence] == ["1", "2", "2"] and len(second.evidence) == 1


class Made(Extractor):
  """An extractor whose models do not matter, as `predict` is replaced."""

  _none = "no_relation"


@pytest.fixture
def predicted(monkeypatch):
  """Names that are known, two who are married, and a linker that knows one."""

  def predict(model, texts, **fields):
    if model == "names":
      return [[Span(x, *WHERE[x], "PER", 1.0) for x in WHERE] if text else [] for text in texts]
    if model == "linker":
      return [[Link(TEXT[s:e], s, e, "T", f"Q{s}", 1.0) for s, e in x] for x in fields["mentions"]]
    labels = []
    for text, (start, end), (first, last) in zip(
      texts, fields["head"], fields["tail"], strict=True
    ):
      married = {text[start:end], text[first:last]} == {"Ana", "Bo"}
      mentions = Mention(text[start:end], start, end), Mention(text[first:last], first, last)
      labels.append(Relation(*mentions, "spouse" if married else "no_relation", 0.8))
    return labels

  monkeypatch.setattr(triples, "predict", predict)


def test_only_relations_that_are_sure_are_kept(predicted):
  found = Made("names", "relations").triples([TEXT, ""])
  assert [(x.head.text, x.relation, x.tail.text) for x in found[0]] == [
    ("Ana", "spouse", "Bo"),
    ("Bo", "spouse", "Ana"),
  ]
  assert found[1] == [] and TEXT[slice(*found[0][0].sentence)].startswith("Ana")
  assert Made("names", "relations", threshold=0.9).triples([TEXT]) == [[]]


def test_pairs_are_read_in_groups_that_a_bar_can_count(predicted, monkeypatch):
  monkeypatch.setattr(triples, "GROUP", 4)
  groups = []
  counting = Made("names", "relations", progress=lambda x: groups.extend(x) or x)
  assert counting.triples([TEXT]) == Made("names", "relations").triples([TEXT])
  assert groups == [slice(0, 4), slice(4, 6)]


def test_a_linker_says_what_names_mean(predicted):
  ((one, _),) = Made("names", "relations", "linker").triples([TEXT])
  assert (one.head.item, one.head.title, one.tail.item) == ("Q0", "T", "Q12")


def test_a_name_that_a_linker_has_no_room_for_means_nothing(predicted, monkeypatch):
  whole = triples.predict

  def without_bo(model, texts, **fields):
    found = whole(model, texts, **fields)
    return [x[:1] + x[2:] for x in found] if model == "linker" else found

  monkeypatch.setattr(triples, "predict", without_bo)
  ((one, _),) = Made("names", "relations", "linker").triples([TEXT])
  assert (one.head.item, one.tail.item) == ("Q0", None)


def test_the_command_finds_nothing_without_names(capsys, tmp_path):
  model = "data/sample_model"
  assert main(["triples", TEXT, "--names", model, "--relations", model]) == 2
  assert "luke-jax:" in capsys.readouterr().err
  assert main(["triples", TEXT, "--threshold", "2"]) == 2
  assert "--threshold: 2" in capsys.readouterr().err


@pytest.mark.slow
def test_facts_of_english(capsys, minilm, tmp_path):
  file = tmp_path / "texts.txt"
  file.write_text("Barack Obama married Michelle Obama.\nApple opened a shop in Berlin.\n")
  assert main(["triples", str(file)]) == 0
  facts = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
  assert {x["relation"] for x in facts} == {"spouse"} and len(facts) == 2
  assert facts[0]["evidence"][0]["sentence"] == "Barack Obama married Michelle Obama."
  assert main(["triples", str(file), "--each", "--output", str(tmp_path / "t.jsonl")]) == 0
  assert len((tmp_path / "t.jsonl").read_text().splitlines()) == 2
