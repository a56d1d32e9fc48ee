"""Knowledge for a linker: vectors by shards, and examples of names that are links or are none."""

import dataclasses

import numpy as np
import pytest
from sample_models import ROOT
from small_wikis import build_wiki
from wiki_builds import contents

from luke_jax.files import Path
from luke_jax.inference import describing
from luke_jax.inference.describing import (
  FROM_TITLE,
  FROM_WIKIDATA,
  Shares,
  _names,
  _Paragraph,
  _Reading,
  describe,
  is_dev,
)
from luke_jax.wiki.export.export import export
from luke_jax.wiki.export.rows import ExportedLink, ExportedPage, ExportedSentence
from luke_jax.wiki.stages.engines import beam, local

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
