"""Triples: which names are paired, what is kept, and how places become facts."""

import itertools
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.cli import main
from luke_jax.inference import triples
from luke_jax.inference.triples import Extractor, Name, Triple, merged, same_things
from luke_jax.tasks.facts.task import Facts
from luke_jax.tasks.ner.task import NamedEntities
from luke_jax.tasks.predictions import Fact, Link, Mention, Span

TEXT = "Ana married Bo in Castrel. Chad won."
WHERE = {"Ana": (0, 3), "Bo": (12, 14), "Castrel": (18, 25), "Chad": (27, 31)}


def name(text, **meant):
  return Name(text, *WHERE.get(text, (0, len(text))), "PER", **meant)


def groups(*names):
  return [[x.text for x in group] for group in same_things(names)]


def at(start, text, label="PER", **meant):
  return Name(text, start, start + len(text), label, **meant)


def test_short_forms_are_of_the_one_long_form_that_they_stand_for():
  ana, lund, bo = at(0, "Ana Lund"), at(20, "Lund"), at(40, "Bo")
  assert groups(lund, ana, bo) == [["Ana Lund", "Lund"], ["Bo"]]
  assert groups(ana, lund, at(60, "Eva Lund")) == [["Ana Lund"], ["Lund"], ["Eva Lund"]]
  lake = at(30, "Lund", "LOC")
  assert groups(ana, lake) == [["Ana Lund"], ["Lund"]]
  guild, initials = at(0, "Guild of North Potters", "ORG"), at(30, "GNP", "ORG")
  assert groups(guild, initials) == [["Guild of North Potters", "GNP"]]
  assert groups(guild, at(30, "Potters", "ORG")) == [["Guild of North Potters"], ["Potters"]]
  assert groups() == []


def test_what_a_linker_says_goes_before_words():
  one, other = at(0, "Ana", item="Q1"), at(9, "Ana", item="Q2")
  assert groups(one, other, at(20, "Anne", item="Q1")) == [["Ana", "Anne"], ["Ana"]]


@given(st.lists(st.sampled_from(["Ana", "Lund", "Ana Lund", "the Ana", "AL"]), max_size=12))
def test_every_name_is_in_one_group(words):
  names = [at(20 * i, x) for i, x in enumerate(words)]
  found = same_things(names)
  assert sorted(x for group in found for x in group) == sorted(names)
  assert all(len({x.key for x in group}) <= 4 for group in found)


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


def test_two_tails_of_a_relation_that_has_one_are_against_each_other():
  found = [("1", [triple(name("Ana"), name(x), 0.9, "born") for x in ("1963", "1964")])]
  first, second = merged(found, ["born"])
  assert (first.against, second.against) == (("1964",), ("1963",))
  assert [x.against for x in merged(found)] == [(), ()]


class Made(Extractor):
  """An extractor whose models do not matter, as `predict` and `predictions` are replaced."""

  task = Facts(labels=("spouse",), types=("PER", "TIME"))
  sure = 0.5


@pytest.fixture
def predicted(monkeypatch):
  """Names that are known, two who are married, and a linker that knows one."""

  def predict(model, texts, **fields):
    if model == "names":
      hidden = [Span("won", 32, 35, "TIME", 1.0)] if "TIME" in (fields["labels"] or ()) else []
      found = [Span(x, *WHERE[x], "PER", 1.0) for x in WHERE] + hidden
      return [found if text else [] for text in texts]
    return [[Link(TEXT[s:e], s, e, "T", f"Q{s}", 1.0) for s, e in x] for x in fields["mentions"]]

  def predictions(model, task, examples, shapes):
    assert model == "facts"
    for example in examples:
      mentions = [
        Mention(example.text[slice(*x.mentions[0])], *x.mentions[0]) for x in example.names
      ]
      both = [[0, 1], [1, 0]] if len(mentions) > 1 else []
      yield example, [Fact(mentions[h], mentions[t], "spouse", 0.8, (h, t)) for h, t in both]

  finder = NamedEntities(labels=("NIL", "PER", "TIME"))
  monkeypatch.setattr(triples, "task_of", lambda model: finder)
  monkeypatch.setattr(triples, "predict", predict)
  monkeypatch.setattr(triples, "predictions", predictions)
  return finder


def test_only_facts_that_are_sure_are_kept(predicted):
  found = Made("names", "facts").triples([TEXT, ""])
  assert [(x.head.text, x.relation, x.tail.text) for x in found[0]] == [
    ("Ana", "spouse", "Bo"),
    ("Bo", "spouse", "Ana"),
  ]
  assert (
    found[1] == [] and TEXT[slice(*found[0][0].sentence)].strip() == "Ana married Bo in Castrel."
  )
  assert Made("names", "facts", threshold=0.9).triples([TEXT]) == [[]]


def test_dates_are_names_for_a_model_that_knows_them(predicted):
  text = TEXT + " That was in 1963, on 4 May 1964."
  (names,) = Made("names", "facts").names_in([text])
  assert [(x.text, x.label) for x in names if x.label == "TIME"] == [
    ("1963", "TIME"),
    ("4 May 1964", "TIME"),
  ]
  (without,) = Made("names").names_in([text])
  assert {x.label for x in without} == {"PER"}


def test_names_that_are_hidden_are_read_for_facts(predicted):
  object.__setattr__(predicted, "hidden", ("TIME",))
  labels = [x.label for x in Made("names", "facts").names_in([TEXT])[0]]
  assert labels == ["PER", "PER", "PER", "PER", "TIME"]
  assert {x.label for x in Made("names").names_in([TEXT])[0]} == {"PER"}


def test_sentences_are_those_from_one_name_to_the_other(predicted, monkeypatch):
  far = (0, 3), (27, 31)

  def predictions(model, task, examples, shapes):
    for example in examples:
      head, tail = (Mention(example.text[slice(*x)], *x) for x in far)
      yield example, [Fact(head, tail, "spouse", 0.8, (0, 3))]

  monkeypatch.setattr(triples, "predictions", predictions)
  ((one,),) = Made("names", "facts").triples([TEXT])
  assert TEXT[slice(*one.sentence)] == TEXT


def test_a_linker_says_what_names_mean(predicted):
  ((one, _),) = Made("names", "facts", "linker").triples([TEXT])
  assert (one.head.item, one.head.title, one.tail.item) == ("Q0", "T", "Q12")


def test_a_name_that_a_linker_has_no_room_for_means_nothing(predicted, monkeypatch):
  whole = triples.predict

  def without_bo(model, texts, **fields):
    found = whole(model, texts, **fields)
    return [x[:1] + x[2:] for x in found] if model == "linker" else found

  monkeypatch.setattr(triples, "predict", without_bo)
  ((one, _),) = Made("names", "facts", "linker").triples([TEXT])
  assert (one.head.item, one.tail.item) == ("Q0", None)


def test_the_command_finds_nothing_without_names(capsys, tmp_path):
  model = "data/sample_model"
  assert main(["triples", TEXT, "--names", model, "--facts", model]) == 2
  assert "luke-jax:" in capsys.readouterr().err
  assert main(["triples", str(tmp_path), "--output", str(tmp_path / "out"), "--each"]) == 2
  assert "--each: of a corpus" in capsys.readouterr().err
  assert main(["triples", TEXT, "--threshold", "2"]) == 2
  assert "--threshold: 2" in capsys.readouterr().err


@pytest.mark.slow
def test_facts_of_english(capsys, minilm, tmp_path):
  file = tmp_path / "texts.txt"
  said = "Ana Sousa, a chemist, was born in Porto on 4 May 1963."
  file.write_text(f"{said}\nAna Sousa was not born in Porto.\n")
  assert main(["triples", str(file)]) == 0
  captured = capsys.readouterr()
  facts = [json.loads(line) for line in captured.out.splitlines()]
  assert {(x["relation"], x["tail"]["name"]) for x in facts} == {
    ("place of birth", "Porto"),
    ("date of birth", "4 May 1963"),
  }
  assert all(x["evidence"][0]["sentence"] == said and len(x["evidence"]) == 1 for x in facts)
  assert main(["triples", str(file), "--each", "--output", str(tmp_path / "t.jsonl")]) == 0
  assert len((tmp_path / "t.jsonl").read_text().splitlines()) == 2
  capsys.readouterr()
  of_two = "Ana Sousa, a daughter of Rui Sousa, was born in Porto on 4 May 1963."
  assert main(["triples", of_two, "--threshold", "0"]) == 0
  assert min(json.loads(x)["score"] for x in capsys.readouterr().out.splitlines()) < 0.5
  assert main(["triples", "Apple opened a shop."]) == 0
  assert capsys.readouterr() == ("", "no facts between the names that were found\n")
  (tmp_path / "corpus").mkdir()
  rows = [{"text": x, "n": i} for i, x in enumerate([said, "Nobody came.", of_two])]
  (tmp_path / "corpus" / "a.jsonl").write_text("".join(json.dumps(x) + "\n" for x in rows))
  asked = ["triples", str(tmp_path / "corpus"), "--output", str(tmp_path / "out")]
  assert main([*asked, "--relations", "born in"]) == 0
  answered = [json.loads(x) for x in (tmp_path / "out/a.jsonl").read_text().splitlines()]
  assert [{"text": x["text"], "n": x["n"]} for x in answered] == rows
  found = [[(y["relation"], y["tail"]["text"]) for y in x["triples"]] for x in answered]
  assert found == [[("place of birth", "Porto")], [], [("place of birth", "Porto")]]
  (one, *_) = answered[0]["triples"]
  assert one["head"]["end"] == len("Ana Sousa") and said[slice(*one["sentence"])] == said
  assert main([*asked, "--relations", "spouse"]) == 2  # another folder for these
  assert "made with other options" in capsys.readouterr().err


def test_ten_thousand_names_take_no_time():
  begun = time.process_time()
  names = [at(12 * i, f"Ana L{i % 5000:05}" if i % 2 else f"L{i % 5000:05}") for i in range(10_000)]
  assert len(same_things(names)) == 5000
  facts = [("1", [triple(x, y, 0.9) for x, y in itertools.pairwise(names)])]
  assert merged(facts)
  assert time.process_time() - begun < 3
