"""What pages of dumps say of themselves."""

import time

import pytest
import wiki_site

from luke_jax.wiki.read.dump import RawPage
from luke_jax.wiki.read.facts import Facts, facts_of_text, first_sentence
from luke_jax.wiki.read.pages import page_from_raw

EN = wiki_site.site("en")
TEXT = """{{Short description|1=Moth of ''Italy''}}
{{Infobox_moth
| name = '''Ana moth'''
}}
[[File:a.jpg|thumb|'''A moth''']]
The '''Ana''' or '''[[lee|Lee]]'s moth''' is a [[moth]] of Italy. It flies.

== Life ==
'''Later''' it sleeps.
[[Category:Moths of Italy|Ana]]
[[category: old_moths]]
"""


def facts(text, title="Ana", language="en"):
  return page_from_raw(RawPage(1, title, 0, None, text), wiki_site.site(language)).facts


def test_a_page():
  assert facts(TEXT) == Facts(
    description="Moth of Italy",
    infobox="Infobox moth",
    categories=("Moths of Italy", "Old moths"),
    first_sentence="The Ana or Lee's moth is a moth of Italy.",
    type_phrase="moth",
    names=("Ana", "Lee's moth"),
  )


@pytest.mark.parametrize(
  ("text", "description"),
  [
    ("{{short description|None}}", None),
    ("{{SHORTDESC:Old moth}}", "Old moth"),
    ("{{ shortdesc | Moth &amp; butterfly }}", "Moth & butterfly"),
    ("{{short description}}", None),
    ("{{Shortened|Moth}}", None),
  ],
)
def test_descriptions(text, description):
  assert facts(text).description == description


def test_other_languages():
  german = facts(
    "{{Taxobox}}\n'''Ana''' ist ein Falter. Er fliegt.\n[[Kategorie:Falter]]", language="de"
  )
  assert german.infobox == "Taxobox"
  assert german.categories == ("Falter",)
  assert german.first_sentence == "Ana ist ein Falter."
  assert german.type_phrase is None
  assert facts("{{基礎情報 蛾|a=b}}", language="ja").infobox == "基礎情報 蛾"


def test_text_without_markup():
  found = facts_of_text("Ana", "Ana  is a moth.\tIt flies.", "en")
  assert found == Facts(first_sentence="Ana is a moth.", type_phrase="moth")
  assert facts_of_text("Ana", " ", "en") == Facts()
  assert first_sentence("", "en") == ""


@pytest.mark.parametrize(
  "again",
  ["{{", "{{a|", "'''", "'''a", "'", "[[Category:", "[[Category:a|", "{{Short description|", "{{ "],
)
def test_time(again):
  start = time.process_time()
  facts(again * (200_000 // len(again)))
  assert time.process_time() - start < 1
