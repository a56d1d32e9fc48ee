"""Sentences with typed names: what pages are, and what words in and around names say."""

import dataclasses
import itertools
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.wiki_types import make
from data.wiki_types.kinds import KINDS, NAMES, kinds_of, listings
from data.wiki_types.make import CHARACTERS, _example, known, write_typed
from data.wiki_types.names import Namer
from data.wiki_types.page_types import PageTypes, labels_of, with_kinds
from luke_jax.cli import main, script
from luke_jax.files import Path
from luke_jax.wiki.export.tables import ExportedLink, ExportedPage, ExportedSentence


def page(title, phrase=None, first="", **fields):
  values = dict.fromkeys(("instance_of", "redirects", "aliases", "categories", "names"), ())
  values |= dict.fromkeys(("item", "description", "infobox", "revision", "time"))
  values |= {"page_id": 1, "disambiguation": False, "text": "", **fields}
  return ExportedPage(title=title, type_phrase=phrase, first_sentence=first, **values)


NOUNS = (
  "guitarist",
  "instrument",
  "river",
  "party",
  "country",
  "election",
  "battle",
  "university",
  "town",
)
PAGES = [
  *(page(f"{noun.title()} {i}", f"British {noun}") for noun in NOUNS for i in range(4)),
  *(page(f"Jimi Stone {i}"[:-2] + "abcd"[i], "American jazz guitarist") for i in range(4)),
  page("Ana Sousa", "Portuguese poet and novelist"),
  page("Rock music", "genre", "The rock music of today is loud."),
]


def sentence(text, *links):
  found = []
  for name, target, source in links:
    start = text.index(name)
    end = start + len(name)
    found.append(ExportedLink(start, end, name, target, None, None, None, source))
  values = {"page_id": 1, "item": None, "section": "", "abstract": False, "paragraph": 1}
  values |= {"sentence": 1, "revision": None, "time": None}
  return ExportedSentence(title="A", text=text, links=tuple(found), **values)


@pytest.fixture(scope="module")
def namer():
  known = {"Chad": with_kinds(["country"]), "grand piano": ("instrument",), "spoons": ()}
  return Namer(PageTypes(PAGES), known)


def found(namer, text, *links):
  names = namer.names_in(sentence(text, *links))
  typed = {text[x.start : x.end]: (x.labels[0], x.source) for x in names.typed}
  return typed, [text[start:end] for start, end in names.unknown]


@pytest.mark.parametrize(
  ("phrase", "labels"),
  [
    ("American singer and jazz guitarist", ("singer", "jazz guitarist", "guitarist")),
    (
      "professional basketball player",
      ("professional basketball player", "basketball player", "player"),
    ),
    ("species of moth", ("species", "moth")),
    ("edition of the championship", ("edition",)),
    ("surname", ()),
    ("one of the best", ()),
    ("", ()),
  ],
)
def test_a_type_phrase_has_labels_the_special_ones_first(phrase, labels):
  assert labels_of(phrase) == labels


def test_labels_have_kinds():
  assert with_kinds(["jazz guitarist"]) == ("jazz guitarist", "person")
  assert with_kinds(["museum"])[1:] == (*NAMES["organization"], *NAMES["location"])
  assert kinds_of("thing") == () and all(set(x) <= NAMES.keys() for x in KINDS.values())


@pytest.mark.parametrize(
  ("text", "name", "label", "source"),
  [
    ("Later the Labour Party lost.", "Labour Party", "party", "last-word"),
    ("She left the University of Castrel.", "University of Castrel", "university", "first-word"),
    ("They swam in Lake Nordvik.", "Lake Nordvik", "lake", "first-word"),
    ("He met guitarist Ray Bell there.", "Ray Bell", "guitarist", "title"),
    ("He met jazz guitarist Ray Bell.", "Ray Bell", "jazz guitarist", "title"),
    ("He met Jimi Bell there.", "Jimi Bell", "person", "first-name"),
    ("It is in countries such as Niger and Mali.", "Mali", "country", "series"),
    ("He was born in Castrel, Nordvik.", "Nordvik", "location", "place"),
    ("He won the 1997 general election there.", "1997 general election", "election", "year"),
    ("A British sailor sank.", "British", "nationality", "adjective"),
    ("It was in January there.", "January", "month", "date"),
    ("Food in Chad is good.", "Chad", "country", "known"),
    (
      "They had instruments such as flutes, bass - drums and violins.",
      "flutes",
      "instrument",
      "list",
    ),
    ("They had instruments such as flutes and bass-drums.", "bass-drums", "instrument", "list"),
    ("All had instruments, including old violins.", "old violins", "instrument", "list"),
    ("He made flutes, violins, and other instruments.", "violins", "instrument", "list"),
    ("He bought a grand piano there.", "grand piano", "instrument", "known"),
  ],
)
def test_words_in_and_around_a_name_say_what_it_is(namer, text, name, label, source):
  typed, _ = found(namer, text)
  assert typed[name] == (label, source)


@pytest.mark.parametrize(
  "text",
  [
    "They had instruments such as the flute.",
    "They had instruments such as flutes that are old.",  # where the last item ends is not known
    "He made flutes and other instruments.",  # nor where one begins
    "They were guitarists such as friends and neighbours.",
    "They had things such as flutes and drums.",
    "They had instruments such as",
    "other instruments",
  ],
)
def test_a_list_that_is_not_sure_gives_no_types(namer, text):
  items = [
    item for listing in listings(text.rstrip(".").split(), namer.listed) for item in listing.items
  ]
  assert items == [] and found(namer, text) == ({}, [])


def test_what_lists_give_several_types_is_unknown(namer):
  assert found(namer, "He played the spoons there.") == ({}, ["spoons"])


def test_what_pages_list_is_known_on_others():
  namer = Namer(PageTypes(PAGES))
  once = "Some towns there had instruments such as flutes, pianos and towns."
  pages = {"A": [once, once], "B": ["In all years there were instruments such as pianos."]}
  sentences = [
    dataclasses.replace(sentence(text), title=title)
    for title, texts in pages.items()
    for text in texts
  ]
  assert known(namer, sentences) == {"pianos": ("instrument",), "flutes": (), "towns": ()}


def test_links_mean_pages_with_types_and_other_names_are_unknown(namer):
  text = "Sousa met Nordvik after rock music ended."
  typed, unknown = found(namer, text, ("Sousa", "Ana Sousa", "own-short"))
  assert typed == {"Sousa": ("poet", "own-short")}
  assert unknown == ["Nordvik", "rock music"]
  assert found(namer, text, ("Sousa", "Nobody", "link")) == ({}, ["Sousa", "Nordvik", "rock music"])


def test_a_surname_is_no_type(namer):
  assert found(namer, "He met Ray Guitarist there.") == ({}, ["Ray Guitarist"])


@given(st.text(st.sampled_from("aAbB .,'“1-"), max_size=200))
def test_any_sentence_is_read_and_its_names_are_apart(text):
  names = Namer(PageTypes(PAGES)).names_in(sentence(text))
  places = sorted([*((x.start, x.end) for x in names.typed), *names.unknown])
  assert all(end <= start for (_, end), (start, _) in itertools.pairwise(places))
  assert all(text[start:end].strip() == text[start:end] != "" for start, end in places)


def test_long_sentences_take_linear_time(namer):
  def seconds(count):
    begun = time.process_time()
    text = "Ana of Bo, the 1997 X and Y-Z in Chad, instruments such as old flutes, drums and "
    namer.names_in(sentence(text * count))
    return time.process_time() - begun

  seconds(10)
  assert seconds(1000) < 8


PLAIN = [
  *(
    f"{noun.title()} {i} is a British {noun}. It was by the {noun} {noun.title()} {i} in {year}."
    for year, noun in enumerate(NOUNS, 1900)
    for i in range(4)
  )
]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
  folder = tmp_path_factory.mktemp("typed")
  lines = [
    json.dumps(
      {
        "title": text.partition(" is")[0],
        "text": f"{text}\nThe Castrel {x} was Labour Party land then.",
      }
    )
    for x, text in enumerate(PLAIN)
  ]
  (folder / "texts.jsonl").write_text("\n".join(lines) + "\n")
  build = ["wiki", "build", str(folder / "texts.jsonl"), "--language", "en", "--until", "counts"]
  tokenizer = str(Path(__file__).parents[2] / "data/sample_wiki/tokenizer")
  assert main([*build, "--tokenizer", tokenizer, "--output", str(folder / "build")]) == 0
  assert main(["wiki", "export", str(folder / "build"), "--output", str(folder / "tables")]) == 0
  return folder / "tables"


def test_files_have_sentences_to_train_on_and_others_for_dev(tables, tmp_path, capsys):
  assert script(make.main, "types", [str(tables), "--output", str(tmp_path / "a")]) == 0
  told = capsys.readouterr()
  assert "looking for sentences to learn from: 0 sentences read" in told.err
  counts = json.loads(told.out.splitlines()[-1])
  lines = [json.loads(x) for x in (tmp_path / "a" / "train.jsonl").read_text().splitlines()]
  assert len(lines) == counts["train"] > 20
  assert all(len(x["text"]) in CHARACTERS and x["spans"] for x in lines)
  again = write_typed(Path(tables), Path(tmp_path / "b"), examples=5)
  assert again["train"] == 5
  few = [json.loads(x) for x in (tmp_path / "b" / "train.jsonl").read_text().splitlines()]
  assert few == lines[:5]  # a random part of all, and the same one each time


def test_tables_without_types_are_told(tmp_path, capsys):
  assert script(make.main, "types", [str(tmp_path), "--output", str(tmp_path / "a")]) == 2
  assert str(tmp_path) in capsys.readouterr().err
  assert script(make.main, "types", ["x", "--output", "y", "--examples", "0"]) == 2
  assert "--examples: 0" in capsys.readouterr().err


def test_an_example_has_characters():
  namer = Namer(PageTypes(PAGES))
  made = sentence("He met guitarist Ray Bell in Nordvik.")
  assert _example(made, namer.names_in(made)) == {
    "text": made.text,
    "spans": [[17, 25, "guitarist", "person"]],
    "unknown": [[29, 36]],
  }
