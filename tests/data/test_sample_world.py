"""The sample world: its facts, the sentences that tell them, and what no page tells."""

import bz2
import random
import re
from collections import Counter

from sample_dumps import dump_path, links

from data.sample_wiki.sentences import Mention, plain, read_templates
from data.sample_wiki.telling import Teller
from data.sample_wiki.world import FOLDER, IMPLIED, TOLD, World, read_world


def test_enough_links_to_learn_from(world, pages, redirects):
  counts = Counter(target for page in pages.values() for _, target in links(page.text, redirects))
  assert sum(counts[entity.title] >= 5 for entity in world.pages) >= 300


def test_names_alone_do_not_tell_types(world, pages, redirects):
  types: dict[str, set[str]] = {}
  for page in pages.values():
    for text, target in links(page.text, redirects):
      if target in world.entities:
        types.setdefault(text, set()).add(world.entities[target].type)
  assert sum(len(found) > 1 for found in types.values()) >= 20


def test_facts_are_of_the_types_their_relation_joins(world):
  for fact in world.facts:
    relation = world.relations[fact.relation]
    assert world.entities[fact.subject].type in relation.subjects.split("|"), fact
    assert world.entities[fact.object].type in relation.objects.split("|"), fact


def test_nobody_acts_before_youth_or_after_death(world):
  died = {fact.subject: fact.year for fact in world.facts if fact.relation == "died_in"}
  memories = ("born_in", "collects", "commemorates")
  for fact in world.facts:
    for title in (fact.subject, fact.object):
      person = world.entities[title]
      if person.type == "person" and fact.year and fact.relation not in memories:
        assert person.year + 15 < fact.year <= died.get(title, 2021), fact
    if fact.relation == "based_on":
      assert world.entities[fact.object].year <= world.entities[fact.subject].year, fact


def test_spans_are_where_their_entities_are_named(world, articles):
  for article in articles:
    for sentence in article.sentences:
      text, spans = plain(sentence)
      mentions = [piece for piece in sentence.pieces if isinstance(piece, Mention)]
      assert [(text[s.start : s.end], s.title) for s in spans] == [
        (m.text, m.title) for m in mentions
      ]
      assert "{" not in text
      assert "  " not in text
      for fact in sentence.facts:
        assert {fact.subject, fact.object} <= sentence.titles | {article.entity.title}


def test_without_a_focus_a_sentence_names_both_entities(world):
  teller = Teller(world, read_templates("en"), random.Random(0))
  for fact in world.facts:
    sentence = teller.tell(fact)
    text, spans = plain(sentence)
    assert [span.title for span in spans] in (
      [fact.subject, fact.object],
      [fact.object, fact.subject],
    )
    assert text[0].isupper() or not text[0].isascii(), text


def test_the_readme_s_python_runs():
  (code,) = re.findall("```python\n(.*?)```", (FOLDER / "README.md").read_text(), re.S)
  names: dict = {}
  exec(code, names)
  assert [names["text"][span.start : span.end] for span in names["spans"]] == [
    names["world"].entities[span.title].name for span in names["spans"]
  ]


def test_told_facts_stand_in_sentences_on_both_pages(world, articles, pages, redirects):
  told = {a.entity.title: {f for s in a.sentences for f in s.facts} for a in articles}
  linked = {t: {target for _, target in links(p.text, redirects)} for t, p in pages.items()}
  for fact in world.facts:
    if fact.status == TOLD:
      for page, other in ((fact.subject, fact.object), (fact.object, fact.subject)):
        assert fact in told[page], (page, fact)
        assert other in linked[page], (page, fact)


def test_implied_facts_are_never_told(world, articles, pages, redirects):
  """Neither of the two is named on the other's page, and no line anywhere names both."""
  for page in pages.values():
    own = {page.title} & set(world.entities)
    for line in page.text.splitlines():
      linked = {target for _, target in links(line, redirects)}
      assert not secrets_of(world, linked | own), line
  for article in articles:
    named = {title for sentence in article.sentences for title in sentence.titles}
    assert not any((article.entity.title, title) in world.secret for title in named), article.entity
    for section in article.sections:
      for paragraph in section.paragraphs:
        assert not secrets_of(world, {t for s in paragraph for t in s.titles}), paragraph


def secrets_of(world: World, titles: set[str]) -> list[tuple[str, str]]:
  return [(a, b) for a in titles for b in titles if (a, b) in world.secret]


def test_implied_facts_follow_from_told_ones(world):
  for fact in world.facts:
    if fact.status == IMPLIED:
      country = world.home[fact.subject]
      place = world.object_of(fact.subject, "born_in") or world.entities[fact.subject]
      region = world.object_of(place.title, "in_region")
      assert region, fact
      assert world.object_of(region.title, "region_of") == world.entities[country], fact
      told = {country, *(f.subject for f in world.told[country] if f.relation == "official_in")}
      assert fact.object in told, fact


def test_unseen_entities_are_on_no_page():
  world = read_world()
  text = bz2.decompress(dump_path("samplewiki").read_bytes()).decode()
  unseen = [entity for entity in world.entities.values() if entity.seen == "no"]
  assert Counter(entity.type for entity in unseen)["person"] >= 10
  for entity in unseen:
    assert not re.search(rf"\b{re.escape(entity.name)}\b", text), entity.title
