"""What templates leave in the text of a page."""

import pytest
import wiki_site
from hypothesis import given
from hypothesis import strategies as st
from wiki_site import paragraphs

from luke_jax.wiki.read.templates import EVERYWHERE, IN_ONE, Templates

SITES = {language: wiki_site.site(language) for language in ("en", "de", "fr", "es", "ja", "nl")}

SHOWN = {
  "en": {
    "{{lang|fr|Bonjour}}": "Bonjour",
    "{{Lang|fr|2=Bonjour|italic=no}}": "Bonjour",
    "{{Template:lang | fr | Bonjour }}": "Bonjour",
    "{{lang\n|fr\n|Bon\njour}}": "Bon jour",
    "{{lang-fr|Bonjour}}": "French: Bonjour",
    "{{langx|grc|x}}": "Ancient Greek: x",
    "{{langx|qqq|x}}": "x",
    "{{transl|ru|ISO|Moskva}}": "Moskva",
    "{{nowrap|a [[b|c]] d}}": "a [[b|c]] d",
    "{{small|a {{nobr|[[b]] {{lang|fr|c}}}}}}": "a [[b]] c",
    "{{small|a {{unknown|[[b]]}}}}": "a",
    "{{small|{{unknown}}}}": "",
    "{{unknown|{{lang|fr|a}}}}": "",
    "{{convert|5|km|mi}}": "5 km",
    "{{cvt|5|to|10|km2|abbr=on}}": "5 to 10 km²",
    "{{convert|6|ft|2|in|m}}": "6 ft 2 in",
    "{{convert|500|mi|km|-1}}": "500 mi",
    "{{convert|5}}": "",
    "{{abbr|St|Saint}}": "St",
    "{{IPA|/a/}}": "/a/",
    "{{IPA|fr|a}}": "French: [a]",
    "{{IPAc-en|us|ˈ|p|æ|_|r}}": "/ˈpæ r/",
    "{{respell|PARR|iss}}": "PARR-iss",
    "{{circa|1500}}": "c. 1500",
    "{{c.|1500|1510}}": "c. 1500 – c. 1510",
    "{{ill|A B|de|C}}": "[[A B]]",
    "{{ill|A|de|C|lt=b}}": "[[A|b]]",
    "{{ill|[[A]]|de}}": "[[A]]",
    "{{USS|Maine|BB-10}}": "[[USS Maine (BB-10)|USS Maine]]",
    "{{birth date|1950|01|2}}": "January 2, 1950",
    "{{birth date|1950|1|2|df=y}}": "2 January 1950",
    "{{as of|2014|lc=y}}": "as of 2014",
    "{{nihongo|Tea|茶|cha}}": "Tea (茶, cha)",
    "{{frac|3|1|2}}": "3 1/2",
    "{{formatnum:{{nowrap|1234}}}}": "1234",
    "{{mono|a=b}}": "",
    "{{mono|1=a=b}}": "a=b",
    "{{mono|[[a|b=c]]}}": "[[a|b=c]]",
    "{{mono|[[a|b}}": "",
    "a{{snd}}b": "a – b",
    "{{sfn|Smith|2000}}{{refn|a}}{{cite book|b}}": "",
    "{{{{nowrap|lang}}|fr|a}}": "",
  },
  "de": {
    "{{frS|Bonjour}}": "französisch Bonjour",
    "{{ruS|Москва|Moskwa}}": "russisch Москва Moskwa",
    "{{IPA|a}}": "[a]",
    "{{Höhe|1234|CH|link=1}}": "1234 m ü. M.",
    "{{lang-fr|a}}": "",
  },
  "fr": {
    "{{langue|en|texte=a}}": "a",
    "{{s|XIX|e}}": "XIXe siècle",
    "{{sp|XVII|e|au|XVIII|e}}": "XVIIe au XVIIIe siècle",
    "{{unité|5|km|2}}": "5 km2",
    "{{date|2|janvier|1950|en sport}}": "2 janvier 1950",
    "{{lien|langue=en|trad=A|fr=B|texte=c}}": "[[B|c]]",
    "{{lang-en|a}}": "en anglais : a",
  },
  "es": {
    "{{siglo|XIX||s}}": "siglo XIX",
    "{{unidad|5|km}}": "5 km",
    "{{fecha|2|1|1950}}": "2 de enero de 1950",
  },
  "ja": {
    "{{lang-en-short|a}}": "英: a",
    "{{読み仮名|東京|とうきょう}}": "東京（とうきょう）",
    "{{仮リンク|題|en|A|label=名}}": "[[題|名]]",
    "{{生年月日と年齢|1950|1|2}}": "1950年1月2日",
  },
  "nl": {"{{Sjabloon:convert|5|km|mi}}": "5 km", "{{ill|a|de}}": ""},
}
CASES = [(language, *case) for language, cases in SHOWN.items() for case in cases.items()]


@pytest.mark.parametrize(("language", "written", "shown"), CASES)
def test_what_a_template_shows(language, written, shown):
  site = SITES[language]
  found = paragraphs(f"Is {written} long.", site)
  assert found == paragraphs(f"Is {shown} long.", site)


WORDS = st.sampled_from(["a", "東京", "[[b]]", "[[c|d e]]", "f &amp; g", " ", "[http://h i]"])
TEXTS = st.lists(WORDS, min_size=1, max_size=4).map("".join).filter(str.strip)


def templates_of(pairs):
  """Pairs of wikitext with a template and of the same with its text instead."""
  kept = [("{{nowrap|", "}}"), ("{{lang|fr|2=", "}}"), ("{{Small | x=y | 1 =", " }}")]
  around = st.sampled_from(kept)
  return st.tuples(around, st.lists(pairs, min_size=1, max_size=3)).map(
    lambda drawn: (
      f"{drawn[0][0]}{''.join(x for x, _ in drawn[1])}{drawn[0][1]}",
      "".join(y for _, y in drawn[1]).strip(),
    )
  )


PAIRS = st.recursive(TEXTS.map(lambda text: (text, text)), templates_of, max_leaves=6)


@given(st.lists(PAIRS, max_size=5))
def test_templates_are_what_stands_in_their_place(pairs):
  site = SITES["en"]
  written, by_hand = (
    ("x ".join(texts) + "." for texts in zip(*pairs, strict=True)) if pairs else "  "
  )
  found = paragraphs(written, site)
  assert found == paragraphs(by_hand, site)
  assert all(p.text[x.start : x.end] == x.text for p in found for x in p.links)


def test_templates_too_deep_show_nothing():
  for depth, shown in ((8, "a b"), (9, "a")):
    (paragraph,) = paragraphs("a " + "{{small|" * depth + "b" + "}}" * depth, SITES["en"])
    assert paragraph.text == shown


@pytest.mark.parametrize("language", IN_ONE)
def test_each_row_can_show_something(language):
  templates = Templates(SITES[language])
  every = "".join(f"|{x}={x}" for x in ("lt", "label", "texte", "fr", "u", "c", "p"))
  for names in (*EVERYWHERE, *IN_ONE[language]):
    for name in names.replace("*", "ru").split(","):
      given = ("|ru|1|2|3", "|1|2|3|4|5", "|5|km")
      assert any(templates.text([f"{name.strip()}{x}{every}"]) for x in given), name
