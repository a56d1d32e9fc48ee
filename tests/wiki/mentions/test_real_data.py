"""SQuAD annotated with a table from the English sample dump."""

import json
import time

import pytest
from small_wikis import TOKENIZER

from luke_jax.wiki.mentions import (
  BuiltPages,
  Mentions,
  annotate,
  annotate_with,
  make_mentions,
  names_on_page,
)
from luke_jax.wiki.stages.build import build
from luke_jax.wiki.stages.engines import local
from luke_jax.wiki.stages.mentions import CountDocuments, Filter
from luke_jax.wiki.stages.page_stage import shards_of
from luke_jax.wiki.stages.sources import Settings
from luke_jax.wiki.stages.stage import read_finished
from luke_jax.wiki.stages.tokens import TOKEN, name_of, write_names
from luke_jax.wiki.stages.vocabulary_stage import Selection

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def wiki(real_data, tmp_path_factory):
  folder = tmp_path_factory.mktemp("wiki") / "en"
  dump = real_data / "wikipedia/enwiki-sample-206-pages.xml.bz2"
  with local(1) as engine:
    build(Settings((dump,), TOKENIZER, selection=Selection(20)), folder, engine)
    make_mentions(folder, Filter(min_link_probability=0.0), engine)
  return folder


@pytest.fixture(scope="module")
def articles(real_data):
  data = json.loads((real_data / "squad/dev-v1.1.json").read_text(encoding="utf-8"))["data"]
  return {x["title"]: [p["context"] for p in x["paragraphs"]] for x in data}


def all_pages(folder):
  shards = shards_of(folder / "pages", read_finished(folder / "pages"))
  return [page for shard in range(len(shards)) for page in shards.read_pages(shard)]


def test_squad(wiki, articles):
  mentions = Mentions(wiki)
  texts = [text for paragraphs in articles.values() for text in paragraphs]
  start = time.process_time()
  annotated = [annotate(text, mentions, min_link_probability=0.01) for text in texts]
  seconds, size = time.process_time() - start, sum(len(text.encode()) for text in texts)
  number = sum(map(len, annotated))
  print(f"{number} names in {len(texts)} paragraphs, {size / seconds / 1e6:.2f} MB/s")
  assert number > 200
  for text, found in zip(texts, annotated, strict=True):
    end = 0
    for annotation in found:
      assert annotation.start >= end
      end = annotation.end
      name = name_of(text[annotation.start : end], 20)
      best = annotation.candidates[0]
      assert best in mentions.candidates(mentions.number(name))
  assert size / seconds > 2e5


def test_the_links_of_one_page(wiki):
  """The names of a page's links are found in its own text, wherever they are links."""
  mentions, built, links = Mentions(wiki), BuiltPages(wiki), 0
  for page in all_pages(wiki):
    names = names_on_page(built.page(page.title), mentions)
    for paragraph in page.paragraphs if names else ():
      spans = [x[:2] for x in annotate_with(paragraph.text, names)]
      ends = {match.end() for match in TOKEN.finditer(paragraph.text)}
      for link in paragraph.links:
        if name_of(link.text, 20) in names and link.end in ends:  # not the stem of a plural
          links += 1
          assert any(start < link.end and link.start < end for start, end in spans), link
  assert links > 30


def test_names_are_counted_quickly(wiki, tmp_path):
  """With a table of every link's text, whether its page is in the sample or not."""
  pages = all_pages(wiki)
  names = {name_of(x.text, 20) for page in pages for y in page.paragraphs for x in y.links}
  names = sorted(name for name in names if name)
  write_names(tmp_path, names)
  shards = shards_of(wiki / "pages", read_finished(wiki / "pages"))
  count = CountDocuments(tmp_path, shards, tmp_path)
  start = time.process_time()
  characters = sum(count(shard)["characters"] for shard in range(len(shards)))
  rate = characters / (time.process_time() - start) / 1e6
  print(f"{len(names)} names, {characters} characters, {rate:.1f} million a second")
  assert rate > 2
