"""Entities of questions and passages come from the table of mentions, or from the file."""

import dataclasses

import pytest
from small_wikis import build_wiki
from tiny import tiny_processor

from luke_jax.errors import InputError
from luke_jax.tasks.qa.files import Example, Link
from luke_jax.tasks.qa.linking import linked
from luke_jax.tasks.qa.task import QuestionAnswering
from luke_jax.text import EntityVocab
from luke_jax.wiki.mentions.build import make_mentions
from luke_jax.wiki.mentions.stages import Filter
from luke_jax.wiki.stages.engines import local

PAGES = {
  "Rye": "The town of [[Rye]] lies in [[Sussex]], far from [[Rye (city)|the city]] in America.",
  "Rye (city)": "A city in [[New York]] is [[Rye (city)|Rye]], and [[Rye (city)|Rye]] it is.",
  "Rye (grain)": "[[Rye (grain)|Rye]] grows in [[Sussex]] and near [[New York]] and so on.",
  "Sussex": "In [[Sussex]] lies the [[Rye|old town]] of that name and much else that is not here.",
  "New York": "Here is [[New York]], as they call it, and there are [[Sussex|other]] places too.",
}
TEXT = "RYE is an old town in Sussex, not in New York."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  folder = build_wiki(tmp_path_factory.mktemp("wiki") / "en", PAGES)
  with local(1) as engine:
    make_mentions(folder, Filter(min_link_probability=0.0), engine)
  return str(folder)


def example(title=None, **fields):
  return Example("a", "here", TEXT, "Where is the old town?", ((22, 28),), title, **fields)


def names(links, text=TEXT):
  return [(text[link.start : link.end], link.title) for link in links]


def test_the_article_decides(folder):
  """Its links alone count, and "old town" is none of them."""
  (found,) = linked([example("Rye")], folder)
  assert names(found.entities) == [("RYE", "Rye"), ("Sussex", "Sussex")]
  assert found.question_entities == ()
  for title in ("Rye_(city)", "Rye%20(city)"):
    (found,) = linked([example(title)], folder)
    assert names(found.entities) == [("RYE", "Rye (city)"), ("New York", "New York")]


def test_without_an_article_the_likeliest_page_counts(folder):
  for title in (None, "No such page"):
    (found,) = linked([example(title)], folder)
    assert names(found.entities) == [
      ("RYE", "Rye (city)"),
      ("old town", "Rye"),
      ("Sussex", "Sussex"),
      ("New York", "New York"),
    ]
    assert names(found.question_entities, found.question) == [("old town", "Rye")]


def test_entities_of_the_file_go_first(folder):
  given = example("Rye", entities=(), question_entities=(Link(9, 12, "Sussex"),))
  assert linked([given], folder) == [given]


def test_what_the_vocabulary_lacks_takes_its_place_and_is_left_out(folder):
  vocab = EntityVocab({"[PAD]": 0, "[UNK]": 1, "[MASK]": 2, "Sussex": 3, "Rye (grain)": 4})
  processor = dataclasses.replace(tiny_processor(), entity_vocab=vocab, max_length=128)
  task = QuestionAnswering(mentions=folder, words=128)
  (row,) = task.features(processor, [example()])
  assert row.entity_ids.tolist() == [3]
  assert processor.tokenizer.decode(row.input_ids[slice(*row.entity_tokens[0])]) == " Sussex"
  (row,) = QuestionAnswering(words=128).features(processor, [example()])
  assert not len(row.entity_ids)


def test_no_table(tmp_path):
  with pytest.raises(InputError, match=r"no table of mentions; expected luke-jax wiki mentions"):
    linked([example()], str(tmp_path))
