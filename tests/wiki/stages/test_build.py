"""From a dump to shuffled records: counted and packed as plain loops over the pages do it."""

import dataclasses
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from wiki_builds import made

from luke_jax.errors import InputError
from luke_jax.pipeline.metadata import read_metadata
from luke_jax.pipeline.stored import StoredRecords
from luke_jax.text import load_entity_vocab, load_processor, load_tokenizer
from luke_jax.wiki.read.dump import read_pages, read_site, split_dumps
from luke_jax.wiki.read.pages import page_from_raw
from luke_jax.wiki.show import figures
from luke_jax.wiki.stages.packing import RecordLimits
from luke_jax.wiki.stages.vocabulary_stage import Selection


@pytest.fixture(scope="module")
def pages(small_dump):
  site = read_site(small_dump)
  raws = [raw for part in split_dumps([small_dump], 10**9) for raw in read_pages(part)]
  return [page_from_raw(raw, site) for raw in raws if raw.namespace == 0]


@pytest.fixture(scope="module")
def resolve(pages):
  """Where a title leads, by a plain walk along its redirects."""
  redirects = {page.title: page.redirect for page in pages}

  def end(title):
    for _ in range(11):
      if redirects.get(title) is None:
        return title if title in redirects else None
      title = redirects[title]
    return None

  return end


def unshuffled(result):
  """All records in the order of the dump."""
  from luke_jax.pipeline.stored import record_from_bytes
  from luke_jax.wiki.stages.stored import open_records

  paths = sorted((result.folder / "records").glob("*.array_record"))
  records = []
  for path, counts in zip(paths, result.stages["records"].shards, strict=True):
    if counts["records"]:
      records += open_records(path, counts["records"]).read_all()
  return list(map(record_from_bytes, records))


def test_there_is_something_to_test(built):
  assert len(built.stages["pages"].shards) > 7
  assert built.stages["records"].counts["records"] > 200
  assert len(built.stages["pretraining"].shards) == 4


def test_redirects(built, pages, resolve):
  from luke_jax.wiki.stages.page_stage import Titles

  titles = Titles(built.folder / "titles")
  for name in [*(page.title for page in pages), "Red link", ""]:
    page = titles.page(name)
    assert (titles.table[page] if page >= 0 else None) == resolve(name)
  counts = built.stages["titles"].counts
  assert counts["redirects_in_loops"] == 2
  assert counts["redirects_to_no_page"] == 1


def test_the_vocabulary_is_the_most_linked_pages(built, settings, pages, resolve):
  made(settings, built.folder)
  linked = [resolve(link.target) for page in pages for x in page.paragraphs for link in x.links]
  counts = Counter(title for title in linked if title is not None)
  expected = sorted(counts, key=lambda title: (-counts[title], title))[:57]
  vocab = load_entity_vocab(built.folder / "vocabulary/entity_vocab.jsonl")
  assert list(vocab.ids) == ["[PAD]", "[UNK]", "[MASK]", *expected]
  assert list(vocab.ids.values()) == list(range(60))
  assert vocab.counts == [0, 0, 0, *(counts[title] for title in expected)]
  numbers = figures(built, RecordLimits())
  assert numbers["links"] == len(linked)
  assert numbers["links_to_no_page"] == linked.count(None)
  share = sum(counts[title] for title in expected) / len(linked)
  assert numbers["links_in_vocabulary"] == share


def plain_records(pages, tokenizer, entity_id, limits):
  """Records by the plain words of the facts: page by page, sentence by sentence."""
  import sentencex

  for page in pages:
    kept = []
    for paragraph in page.paragraphs:
      start = 0
      if limits.abstract_only and not paragraph.abstract:
        continue
      for text in sentencex.segment("en", paragraph.text):
        links = [x for x in paragraph.links if start <= x.start and x.end <= start + len(text)]
        ids, mentions, done = [], [], start
        for link in links:
          ids += plain_ids(tokenizer, paragraph.text, done, link.start)
          mention = plain_ids(tokenizer, paragraph.text, link.start, link.end)
          id = entity_id(link.target)
          if id is not None:
            mentions.append((id, len(ids), len(ids) + len(mention)))
          ids += mention
          done = link.end
        ids += plain_ids(tokenizer, paragraph.text, done, start + len(text))
        start += len(text)
        if limits.min_sentence <= len(ids) <= limits.max_words - 2:
          kept.append((ids, mentions))
    yield from packed(page, kept, entity_id, limits)


def packed(page, sentences, entity_id, limits):
  words, mentions = [], []
  for ids, found in [*sentences, ([0] * 10**6, [])]:
    if len(words) + len(ids) > limits.max_words - 2:
      if words and (mentions or limits.records_without_entities):
        id = entity_id(page.title)
        yield -1 if id in (None, 1) else id, words, mentions[: limits.max_entities]
      words, mentions = [], []
    mentions = mentions + [(id, len(words) + i, len(words) + j) for id, i, j in found]
    words = words + ids


def plain_ids(tokenizer, text, start, end):
  piece = text[start:end].rstrip()
  after_space = start == 0 or text[start - 1] == " "
  piece = f" {piece}" if after_space and not piece.startswith(" ") else piece
  return tokenizer.encode([piece])[0].ids if piece.strip() else []


CHOICES = [
  RecordLimits(),
  RecordLimits(max_words=64, records_without_entities=True),
  RecordLimits(max_words=64, max_entities=2, max_mention=3),
  RecordLimits(max_words=100, unknown_entities="skip"),
  RecordLimits(max_words=40, abstract_only=True, min_sentence=9),
]


@pytest.mark.parametrize(
  "limits", [*CHOICES[::2], *(pytest.param(x, marks=pytest.mark.slow) for x in CHOICES[1::2])]
)
def test_records_are_those_of_plain_loops(limits, built, settings, pages, resolve):
  result = made(dataclasses.replace(settings, limits=limits), built.folder)
  vocab = load_entity_vocab(built.folder / "vocabulary/entity_vocab.jsonl")

  def entity_id(title):
    end = resolve(title)
    unknown = 1 if limits.unknown_entities == "keep" else None
    return vocab.id(end) if end is not None and vocab.contains(end) else unknown

  tokenizer = load_tokenizer(settings.tokenizer)
  expected = list(plain_records(pages, tokenizer, entity_id, limits))
  found = unshuffled(result)
  assert len(found) == len(expected) > 20
  for record, (page_id, words, mentions) in zip(found, expected, strict=True):
    assert record.page_id == page_id
    assert record.word_ids.tolist() == words
    assert record.entity_ids.tolist() == [id for id, _, _ in mentions]
    assert record.mention_starts.tolist() == [start for _, start, _ in mentions]
    cut = [min(end, start + limits.max_mention) for _, start, end in mentions]
    assert record.mention_ends.tolist() == cut


def test_pages_of_the_vocabulary_only(built, settings):
  limits = RecordLimits(vocabulary_pages_only=True)
  result = made(dataclasses.replace(settings, limits=limits), built.folder)
  assert {record.page_id for record in unshuffled(result)} == set(range(3, 60))
  dropped = result.stages["records"].counts["dropped: pages not in the vocabulary"]
  assert dropped == result.stages["pages"].counts["pages"] - 57


def test_nothing_vanishes(built, settings):
  """Every word and every link of the dump is in a record or among those dropped."""
  result = made(dataclasses.replace(settings, limits=CHOICES[2]), built.folder)
  counts = result.stages["records"].counts
  records = unshuffled(result)
  assert counts["words"] == sum(len(record.word_ids) for record in records)
  assert counts["entities"] == sum(len(record.entity_ids) for record in records)
  links = counts["entities"] + sum(
    counts.get(f"dropped: {why}", 0)
    for why in (
      "links across sentences",
      "links without text",
      "links to unknown entities",
      "links in sentences too short",
      "links in sentences too long",
      "entities beyond the most a record holds",
    )
  )
  assert links == result.stages["pages"].counts["links"]
  assert counts["mentions_cut"] > 0


@pytest.mark.parametrize("kind", ["byte_level", "sentence_piece"])
def test_mentions_decode_to_the_text_of_their_links(kind, built, settings, pages, tokenizers):
  chosen = dataclasses.replace(settings, tokenizer=tokenizers / kind)
  result = made(chosen, built.folder)
  tokenizer = load_tokenizer(chosen.tokenizer)
  links = {link.text for page in pages for x in page.paragraphs for link in x.links}
  texts = {tokenizer.decode(row.ids).strip() for row in tokenizer.encode(sorted(links))}
  for record in unshuffled(result):
    for start, end in zip(record.mention_starts, record.mention_ends, strict=True):
      assert tokenizer.decode(record.word_ids[start:end]).strip() in texts


def test_the_shuffle_loses_nothing_and_leaves_little_in_place(built, settings):
  result = made(settings, built.folder)
  before = [record.to_bytes() for record in unshuffled(result)]
  after = [record.to_bytes() for record in StoredRecords(str(built.folder / "pretraining"))]
  assert sorted(before) == sorted(after)
  assert sum(map(bytes.__eq__, before, after)) < 10


def test_the_result_says_what_it_is(built, settings):
  made(settings, built.folder)
  folder = built.folder / "pretraining"
  metadata = read_metadata(folder)
  assert (metadata.max_words, metadata.language, metadata.entity_vocab_size) == (512, "en", 60)
  assert [file.records for file in metadata.files[:-1]] == [100] * (len(metadata.files) - 1)
  processor = load_processor(folder)
  assert processor.entity_vocab.id("Town 1") == processor.entity_vocab.ids["Town 1"] > 2
  assert (processor.max_length, processor.max_entity_length) == (512, 128)


def test_allow_lists(built, settings):
  selection = Selection(20, allowed=("Town", "No such page", "Place 30", "Town 30", "Town 1"))
  made(dataclasses.replace(settings, selection=selection), built.folder)
  vocab = load_entity_vocab(built.folder / "pretraining")
  first = [vocab.title(id) for id in range(3, 6)]
  linked = load_entity_vocab(built.folder / "vocabulary/entity_vocab.jsonl").counts
  assert first == ["Town 30", "Town 1", "Town 0"]  # nothing links to Town
  assert linked[5:] == sorted(linked[5:], reverse=True) and len(vocab) == 20
  only = dataclasses.replace(selection, allowed_only=True)
  made(dataclasses.replace(settings, selection=only), built.folder)
  assert list(load_entity_vocab(built.folder / "pretraining").ids)[3:] == ["Town 30", "Town 1"]


def test_more_entities_than_linked_pages_are_all_of_them(built, settings, pages, resolve):
  chosen = dataclasses.replace(settings, selection=Selection(500_000))
  made(chosen, built.folder)
  links = [link.target for page in pages for x in page.paragraphs for link in x.links]
  linked = {resolve(link) for link in links} - {None}
  vocab = load_entity_vocab(built.folder / "pretraining")
  assert {vocab.title(id) for id in range(3, len(vocab))} == linked


def test_a_vocabulary_of_several_languages_that_is_given(built, settings, tmp_path):
  ids = {"[MASK]": 0, "[UNK]": 1, "[PAD]": 2, "de:Town 2": 3, "en:Old place": 4, "en:Town 1": 5}
  path = tmp_path / "entity_vocab.json"
  path.write_text(json.dumps(ids | {"de:Ort": 5}))
  result = made(dataclasses.replace(settings, vocabulary=path), built.folder)
  used = np.unique(np.concatenate([record.entity_ids for record in unshuffled(result)]))
  assert used.tolist() == [1, 4, 5]
  assert load_entity_vocab(built.folder / "pretraining").multilingual


@pytest.mark.parametrize(
  ("change", "line"),
  [
    ({"selection": Selection(3)}, "--entities: 3; expected a whole number from 4"),
    ({"language": "nl"}, "a dump of enwiki in 'en'; expected --language en, not nl"),
    ({"dumps": (Path("gone.xml"),)}, "gone.xml: no such file; expected a dump"),
    ({"tokenizer": Path("gone")}, "gone: no tokenizer; expected vocab.json"),
    ({"vocabulary": Path("gone.json")}, "gone.json: no such file; expected an entity vocabulary"),
    ({"limits": RecordLimits(max_words=6)}, "--max-words: 6; expected a whole number from 7"),
    (
      {"limits": RecordLimits(min_sentence=500)},
      "no record, for no page has a sentence with a link",
    ),
  ],
)
def test_bad_input_is_one_line(change, line, settings, tmp_path):
  with pytest.raises(InputError) as fault:
    made(dataclasses.replace(settings, **change), tmp_path / "out")
  assert line in str(fault.value) and "\n" not in str(fault.value)


def test_a_folder_and_a_dump_without_text(settings, small_dump, tmp_path):
  chosen = dataclasses.replace(settings, dumps=(tmp_path,))
  with pytest.raises(InputError, match="a folder without files in"):
    made(chosen, tmp_path / "out")
  stub = tmp_path / "stub.xml"
  stub.write_text(re.sub(r"<text [^<]*</text>", '<text bytes="9" />', small_dump.read_text()))
  with pytest.raises(InputError, match=r"151 pages and none with text; expected .* not .* \(stub"):
    made(dataclasses.replace(settings, dumps=(stub,)), tmp_path / "out")


def test_a_dump_of_another_project(settings, small_dump, tmp_path):
  path = tmp_path / "other.xml"
  path.write_text(small_dump.read_text().replace("enwiki<", "enwiktionary<"))
  told = "a dump of enwiktionary; expected one of a Wikipedia, or --language"
  with pytest.raises(InputError, match=told):
    made(dataclasses.replace(settings, dumps=(path,), language=None), tmp_path / "out")
  made(dataclasses.replace(settings, dumps=(path,), language="en"), tmp_path / "out")
  with pytest.raises(InputError, match="a dump of enwiktionary; expected enwiki as in"):
    made(dataclasses.replace(settings, dumps=(small_dump, path)), tmp_path / "out")
