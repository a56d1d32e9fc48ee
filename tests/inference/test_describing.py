"""Examples for a linker: names that are links, names that mean nothing, and how often they do."""

import dataclasses

import pytest

from luke_jax.files import Path
from luke_jax.inference import describing
from luke_jax.inference.describing import (
  FROM_TITLE,
  FROM_WIKIDATA,
  Shares,
  _names,
  _Paragraph,
  _Reading,
  is_dev,
)
from luke_jax.wiki.export.rows import ExportedLink, ExportedPage, ExportedSentence

IDS = {"Ana Ferrier": 0, "Bo Ferrier": 1, "Music (film)": 2, "Castrel": 3}
NAMES = {
  "Ana Ferrier": {0: 1.0},
  "Ferrier": {0: 1.0, 1: 1.0},
  "music": {2: 0.5},
  "Castrel": {3: 2.0},
}


def sentence(text, *links, source="link", paragraph=1):
  marked = []
  for name, target in links:
    start = text.index(name)
    end = start + len(name)
    marked.append(ExportedLink(start, end, name, target, IDS[target], None, None, source))
  return ExportedSentence(
    1, "Castrel", None, "", False, paragraph, 0, text, tuple(marked), None, None
  )


@pytest.fixture
def reading():
  return _Reading(NAMES, IDS, Shares(1.0, 1.0, 1.0))


def paragraph(*sentences):
  return _Paragraph.of(sentences)


def test_links_of_sentences_are_those_of_their_paragraph():
  found = paragraph(
    sentence("It rains."), sentence("Ana Ferrier sang.", ("Ana Ferrier", "Ana Ferrier"))
  )
  (link,) = found.links
  assert found.text == "It rains. Ana Ferrier sang."
  assert found.text[link.start : link.end] == "Ana Ferrier"


def test_an_example_has_as_many_names_that_mean_nothing_as_links(reading):
  text = "Ana Ferrier made music, music in Castrel; Ferrier left."
  example = reading._example("Castrel", paragraph(sentence(text, ("Ana Ferrier", "Ana Ferrier"))))
  named = [(text[start:end], title) for start, end, title in example["mentions"]]
  # Neither what a link of the paragraph or the page itself is called, nor more than links.
  assert sorted(named, key=str) == [("Ana Ferrier", "Ana Ferrier"), ("music", None)]


def test_in_text_without_links_an_ambiguous_capital_is_open(reading):
  text = "Ana Ferrier made music where Ferrier lived."
  for source, others in (("own-title", ["music"]), ("link", ["music", "Ferrier"])):
    links = sentence(text, ("Ana Ferrier", "Ana Ferrier"), source=source)
    linked, bounds = reading._found(paragraph(links))
    assert linked == ["Ana Ferrier"] and [text[x:y] for x, y in bounds] == others


def test_a_common_word_is_hardly_ever_a_link(reading):
  for _ in range(98):
    reading._count(paragraph(sentence("She made music.")))
  reading._count(paragraph(sentence("See music.", ("music", "Music (film)"))))
  reading._count(paragraph(sentence("Ana Ferrier sang.", ("Ana Ferrier", "Ana Ferrier"))))
  linked = reading.linked()
  assert linked["music"] == pytest.approx(2 / 100) and linked["Ana Ferrier"] == 1
  assert "Ferrier" not in linked  # which stood nowhere


def test_examples_are_of_a_share_of_the_pages(monkeypatch, tmp_path):
  sentences = [
    dataclasses.replace(
      sentence("Ana Ferrier sang.", ("Ana Ferrier", "Ana Ferrier")), title=f"P{i}"
    )
    for i in range(200)
  ]
  monkeypatch.setattr(describing, "read_sentences", lambda _: sentences)
  every = _Reading(NAMES, IDS, Shares(1.0, 1.0, 0.0)).write_examples(tmp_path, Path(tmp_path))
  held_out = sum(is_dev(x.title) for x in sentences)
  assert held_out > 4 and every == {"train": 200 - held_out, "dev": held_out}
  some = _Reading(NAMES, IDS, Shares(0.25, 0.0, 0.0)).write_examples(tmp_path, Path(tmp_path))
  assert 20 < some["train"] < 80 and some["dev"] == 0


def test_labels_and_aliases_are_names_of_less_weight(monkeypatch):
  monkeypatch.setattr(describing, "read_sentences", lambda *_, **__: [])
  page = dict.fromkeys(ExportedPage.__dataclass_fields__, ())
  names = {"title": "Castrel (city)", "redirects": ("Kastrel",), "aliases": ("Castrel", "The Port")}
  names, _ = _names(None, [ExportedPage(**page | names)], {"Castrel (city)": 0})
  assert {name: meant[0] for name, meant in names.items()} == {
    "Castrel (city)": FROM_TITLE,
    "Castrel": FROM_TITLE + FROM_WIKIDATA,
    "Kastrel": FROM_TITLE,
    "The Port": FROM_WIKIDATA,
  }
