from collections import Counter

import wiki_site
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.wiki.read.dump import RawPage
from luke_jax.wiki.read.facts import Facts
from luke_jax.wiki.read.markup import PageLink, Paragraph
from luke_jax.wiki.read.pages import Page, page_from_bytes, page_from_raw, page_to_bytes

EN = wiki_site.site("en")


def test_a_page():
  raw = RawPage(7, "paris", 0, None, "[[France|in]] France\n== x ==\n{{disambiguation}}\ny")
  link = PageLink("in", "France", 0, 2)
  text = (Paragraph("in France", (link,), True), Paragraph("y", (), False, "x"))
  assert page_from_raw(raw, EN)[:5] == Page(7, "Paris", None, True, text)[:5]
  sections = page_from_raw(raw, EN, sections=True).paragraphs
  assert sections == text


def test_redirects():
  raw = RawPage(7, "A", 0, "new_home#top", "#REDIRECT [[new_home#top]]")
  assert page_from_raw(raw, EN) == Page(7, "A", "New home", False, ())
  faults = Counter()
  away = RawPage(7, "A", 0, "wikt:a", "#REDIRECT [[wikt:a]]")
  assert page_from_raw(away, EN, faults=faults) == Page(7, "A", None, False, ())
  assert faults == {"redirect out of the wiki": 1}


def test_a_title_that_is_none():
  faults = Counter()
  assert page_from_raw(RawPage(7, "a[b", 0, None, ""), EN, faults=faults).title == "a[b"
  assert faults == {"title that MediaWiki does not allow": 1}


text = st.text(st.characters(), max_size=10)
number = st.integers(0, 2**31)
links = st.lists(st.builds(PageLink, text, text, number, number), max_size=3).map(tuple)
paragraphs = st.lists(st.builds(Paragraph, text, links, st.booleans(), text), max_size=3).map(tuple)
some, several = st.none() | text, st.lists(text, max_size=2).map(tuple)
facts = st.builds(Facts, some, some, several, some, some, several)


@given(st.builds(Page, number, text, some, st.booleans(), paragraphs, facts, number, some))
def test_bytes_and_back(page):
  assert page_from_bytes(page_to_bytes(page)) == page
