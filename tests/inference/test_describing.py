"""Knowledge for a linker: vectors by shards, and examples of names that are links or are none."""

import collections
import dataclasses
import json
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_models import ROOT
from small_wikis import build_wiki
from wiki_builds import contents

from luke_jax.files import Path
from luke_jax.inference import describing
from luke_jax.inference.describing import (
  FROM_TITLE,
  FROM_WIKIDATA,
  LinkedParagraph,
  Shares,
  _Reading,
  _Wiki,
  describe,
  is_dev,
)
from luke_jax.tasks.linking import names
from luke_jax.tasks.linking.names import KEPT_PLACES, NONE, Meanings, NameSums, NameTable, key_of
from luke_jax.wiki.export.export import export
from luke_jax.wiki.export.tables import ExportedLink, ExportedPage, ExportedSentence
from luke_jax.wiki.stages.engines import beam, local

IDS = {"Ana Ferrier": 0, "Bo Ferrier": 1, "Music (film)": 2, "Castrel": 3, "Castrel (city)": 4}
MEANINGS = Meanings.of(
  {"Ana Ferrier": {0: 1.0}, "Ferrier": {0: 1.0, 1: 1.0}, "music": {2: 0.5}, "Castrel": {3: 2.0}}
).summed()
NAMES = NameTable.of(MEANINGS)


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
  return LinkedParagraph.of(sentences)


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
  linked = dict(zip(MEANINGS.keys.tolist(), reading.linked(MEANINGS.keys).tolist(), strict=True))
  assert linked[key_of("music")] == pytest.approx(2 / 100)
  assert linked[key_of("Ana Ferrier")] == linked[key_of("Ferrier")] == 1  # which stood nowhere


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


def test_names_have_weights_by_where_they_are_from(monkeypatch):
  page = dict.fromkeys(ExportedPage.__dataclass_fields__, ())
  page |= {"title": "Castrel (city)", "redirects": ("Kastrel", " "), "disambiguation": False}
  page |= {"aliases": ("Castrel", "The Port"), "description": "a city", "item": None}
  sentences = [
    sentence("Castrel and Castrel.", ("Castrel", "Castrel (city)"), source=source)
    for source in ("link", "link", "link", "own-title", "own-title")
  ]
  sentences = [dataclasses.replace(x, title="Castrel (city)") for x in sentences]
  monkeypatch.setattr(describing, "read_pages", lambda *_, **__: [ExportedPage(**page)])
  monkeypatch.setattr(describing, "read_sentences", lambda *_, **__: sentences)
  monkeypatch.setattr(describing, "is_dev", lambda _: False)
  wiki = _Wiki(Path("tables"))
  meanings = wiki.meanings()
  weights = dict(zip(meanings.keys.tolist(), meanings.weights.tolist(), strict=True))
  assert {name: weights.pop(int(key_of(name))) for name in ("Castrel (city)", "Castrel")} == {
    "Castrel (city)": FROM_TITLE,
    "Castrel": 3 + FROM_TITLE + FROM_WIKIDATA,
  }
  assert weights == {key_of("Kastrel"): FROM_TITLE, key_of("The Port"): FROM_WIKIDATA}
  places = meanings.evidence[meanings.keys == key_of("Castrel")]
  np.testing.assert_array_equal(places, [[[0, 0, 0], [0, 0, 0]]])  # of three the first two
  assert json.loads(wiki.lines[0])["description"] == "a city"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.integers(0, 9))))
def test_sums_of_names_are_those_of_a_plain_loop(added):
  sums, counts, places = NameSums(), collections.Counter(), collections.defaultdict(list)
  with mock.patch.object(names, "LEAST_PAIRS_TO_SUM", 3):
    for name, id, place in added:
      sums.add(name, id, *([(place, 0, 0)] if place else []))
      counts[int(key_of(name)), id] += 1
      places[int(key_of(name)), id] += [place] * bool(place)
    found = sums.summed()
  pairs = list(zip(found.keys.tolist(), found.ids.tolist(), strict=True))
  assert pairs == sorted(counts) and found.weights.tolist() == [counts[pair] for pair in pairs]
  expected = [[*places[pair], NONE, NONE][:KEPT_PLACES] for pair in pairs]
  assert found.evidence[:, :, 0].tolist() == expected


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
  """Tables of a few pages in several files."""
  folder = tmp_path_factory.mktemp("tables")
  pages = {f"Town {i}": f"Town {i} is a town of [[Town {i // 2}]]. It grows." for i in range(40)}
  build_wiki(folder / "wiki", pages, part_size=600)
  with local(1) as engine:
    export(folder / "wiki", folder / "tables", engine, form="jsonl")
  return folder / "tables"


def test_describing_goes_on_with_the_vectors_that_it_has(tables, tmp_path, monkeypatch):
  monkeypatch.setattr(describing, "_read_model", lambda _: None)
  monkeypatch.setattr(describing, "weights_hash", lambda _: "")
  monkeypatch.setattr(
    describing, "encode", lambda _, texts: np.array([[len(x), sum(x.encode())] for x in texts])
  )
  made = []

  def described(output, most=1000):
    def engine(run, shards):
      for shard in shards[:most]:
        run(shard)
        made.append(shard)
      if len(shards) > most:
        raise KeyboardInterrupt

    return describe(tables, tables, output, engine, examples=20)

  counts = described(tmp_path / "one")
  assert counts["entities"] == 40 and len(made) > 2
  number = len(made)
  with pytest.raises(KeyboardInterrupt):
    described(tmp_path / "two", most=2)
  assert not (tmp_path / "two" / "knowledge.json").exists()
  assert described(tmp_path / "two") == counts and len(made) == 2 * number
  assert contents(tmp_path / "two") == contents(tmp_path / "one")


@pytest.mark.slow
def test_the_same_knowledge_from_beam(tables, tmp_path):
  pytest.importorskip("apache_beam", reason="needs the extra `beam`")
  for name, opened in (("one", local(1)), ("beam", beam([]))):
    with opened as engine:
      describe(tables, ROOT / "data/sample_model", tmp_path / name, engine, examples=20)
  assert contents(tmp_path / "beam") == contents(tmp_path / "one")
