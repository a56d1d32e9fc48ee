from collections import Counter

import pytest
import wiki_site
from wiki_site import paragraphs

from luke_jax.wiki.read.markup import Paragraph, read_wikitext

EN = wiki_site.site("en")

# wikitext, lines, links as (text, target)
CASES = {
  "plain": ("One.\nTwo.", ["One.", "Two."], []),
  "empty lines": ("\n\n One \n\n\tTwo\n", ["One", "Two"], []),
  "link": ("See [[Paris]] now.", ["See Paris now."], [("Paris", "Paris")]),
  "label": ("a [[paris|the city]] b", ["a the city b"], [("the city", "Paris")]),
  "trail": ("[[car]]s", ["cars"], [("car", "Car")]),
  "two": ("[[a]][[b]]", ["ab"], [("a", "A"), ("b", "B")]),
  "spaces in a label": ("x[[a| b ]]y", ["x b y"], [("b", "A")]),
  "empty label": ("[[Foo (bar)|]] and [[Paris, Texas|]]", ["Foo and Paris"], None),
  "pipe in a label": ("[[a|b|c]]", ["b|c"], [("b|c", "A")]),
  "label over two lines": ("[[a|b\nc]] d", ["b c d"], [("b c", "A")]),
  "section": ("[[#Top|up]] [[A#Top|A's top]]", ["up A's top"], [("A's top", "A")]),
  "section alone": ("[[#Top]]", ["#Top"], []),
  "no title": ("[[a{b|c]] [[|d]] [[]]", ["c d"], []),
  "entities": ("a&nbsp;b &lt;b&gt; &amp;amp; AT&T", ["a\u00a0b <b> &amp; AT&T"], []),
  "entity in a link": ("[[AT&amp;T]]", ["AT&T"], [("AT&T", "AT&T")]),
  "bold, italics": ("'''''a''''' '''b''' ''c'' it's", ["a b c it's"], []),
  "bold link": ("'''[[a|''b'']]'''", ["b"], [("b", "A")]),
  "italics around a template": ("a ''{{lag|fr|b}}'' c", ["a  c"], []),
  "template": ("a{{b|[[c]]|{{d}}}}e", ["ae"], []),
  "template over lines": ("{{Infobox\n| a = [[b]]\n}}\nText", ["Text"], []),
  "parameter": ("{{{a|b}}} c {{{{{d}}}}}", ["c"], []),
  "template in a label": ("[[a|b{{c|d}}]]", ["b"], [("b", "A")]),
  "template as a label": ("x [[a|{{b|c}}]] y", ["x  y"], []),
  "unclosed template": ("{{a|[[b]]\nText", ["a|b", "Text"], [("b", "B")]),
  "unopened template": ("a}} b", ["a b"], []),
  "braces in a template": ("{{a|{b} }}c", ["c"], []),
  "table": ("{| class=x\n|-\n| [[a]] || b\n|}\nText", ["Text"], []),
  "table in a table": ("{|\n|\n{|\n|a\n|}\n|b\n|}\nc", ["c"], []),
  "indented table": ("::{|\n|a\n|}", [], []),
  "text after a table": ("b\n{|\n|a\n|} c", ["b", "c"], []),
  "no table within a line": ("a {| b |} c", ["a {| b |} c"], []),
  "unclosed table": ("{| class=x\n|-\n| a\nText", ["Text"], []),
  "unopened table": ("a\n|}\nb", ["a", "b"], []),
  "table in a template": ("{{a|\n{|\n|b\n|}\n}}c", ["c"], []),
  "html table": ("a<table><tr><td>b</td></tr></table>c", ["a", "c"], []),
  "comment": ("a<!-- [[b]] {{ -->c", ["ac"], []),
  "comment in a link": ("[[a<!-- b -->|c]]", ["c"], [("c", "A")]),
  "unclosed comment": ("a<!-- b\nc", ["a"], []),
  "reference": ("a<ref>b [[c]]</ref> d", ["a d"], []),
  "named reference": ('a<ref name="x">b</ref><ref name=x />c<Ref>d</REF>', ["ac"], []),
  "reference in a template": ("{{a|<ref>}}</ref>}}b", ["b"], []),
  "unclosed reference": ("a<ref>b [[c]]", ["ab c"], [("c", "C")]),
  "nowiki": ("<nowiki>[[a]] ''b'' {{c}} &lt;</nowiki>", ["[[a]] ''b'' {{c}} &lt;"], []),
  "nowiki at the start": ("<nowiki>*</nowiki> a", ["* a"], []),
  "nowiki in a template": ("{{a|<nowiki>}}</nowiki>}}b", ["b"], []),
  "formula": ("a <math>x</math> b<code>c</code>", ["a  b"], []),
  "gallery": ("<gallery>\nFile:A.jpg|b [[c]]\n</gallery>\nd", ["d"], []),
  "inline tags": ("H<sub>2</sub>O <small>s</small> <span style='a'>t</span>", ["H2O s t"], []),
  "breaks": ("a<br>b<br />c<p>d</p>", ["a b c d"], []),
  "unknown tag": ("a < b <c> d", ["a < b <c> d"], []),
  "includeonly": ("a<includeonly>b</includeonly><noinclude>c</noinclude>", ["ac"], []),
  "heading": ("a\n== b ==\nc", ["a", "c"], []),
  "lists": ("* a\n## b\n:; c : d", ["a", "b", "c : d"], []),
  "rule": ("----\n---- a", ["a"], []),
  "magic words": ("__NOTOC__a __init__ b", ["a __init__ b"], []),
  "external link": ("[http://a.b/c d e] f [https://a.b] [//a.b g]", ["d e f  g"], []),
  "link in an external link": ("[http://a.b c [[d]] e]", ["c d e"], [("d", "D")]),
  "bare url": ("see http://a.b/c?d=e&f now", ["see http://a.b/c?d=e&f now"], []),
  "brackets": ("a [b] [[c|d [e]]] f", ["a [b] d [e] f"], [("d [e]", "C")]),
  "three brackets": ("[[[a]]]", ["[a]"], [("a", "A")]),
  "file": ("a[[File:b.jpg|thumb|c [[d]] e]]f", ["af"], []),
  "file over lines": ("[[Image:b.jpg|c\n[[d|e]] {{f}}\n]]g", ["g"], []),
  "file in brackets": ("[[[[File:a|b]] c]] [[[File:d|e]]", ["c ["], [("c", "C")]),
  "file with a colon": ("[[:File:b.jpg|c]]", ["c"], [("c", "File:B.jpg")]),
  "media": ("[[Media:b.ogg|c]]", ["c"], []),
  "category": ("a\n[[Category:b|c]]\n[[category:d]]", ["a"], []),
  "category with a colon": ("[[:Category:b|c]]", ["c"], [("c", "Category:B")]),
  "interlanguage": ("a\n[[fr:B]]\n[[zh-min-nan:C]]", ["a"], []),
  "interlanguage within a line": ("[[fr:B]] [[a]] b", ["a b"], [("a", "A")]),
  "to other languages": ("[[:fr:B|c]] [[wikt:d|e]]", ["c e"], []),
  "link in a label": ("[[a|b [[c]] d]]", ["b c d"], [("c", "C")]),
  "unclosed link": ("[[a|b\n[[c]] [[d", ["b", "c d"], [("c", "C")]),
  "unclosed file": ("[[File:a.jpg|b\n== c ==\n[[d]] ]]", ["b", "d"], [("d", "D")]),
  "broken tag": ("<ref name=a b\n<ref c", ["<ref name=a b", "<ref c"], []),
  "other namespaces": ("[[Talk:a|b]] [[User:c]]", ["b User:c"], None),
}


def read(wikitext, site=EN):
  read = paragraphs(wikitext, site)
  assert all(p.text[link.start : link.end] == link.text for p in read for link in p.links)
  return [p.text for p in read], [(link.text, link.target) for p in read for link in p.links]


@pytest.mark.parametrize(("wikitext", "lines", "links"), CASES.values(), ids=CASES)
def test_markup(wikitext, lines, links):
  found = read(wikitext)
  assert found[0] == lines
  assert links is None or found[1] == links


def test_offsets():
  (paragraph,) = paragraphs("* {{x}} '''A''' [[b|c&nbsp;d]]s &ndash; [[e]] ", EN)
  assert paragraph.text == "A c\u00a0ds – e"
  assert [(link.start, link.end) for link in paragraph.links] == [(2, 5), (9, 10)]


def test_the_abstract_ends_at_the_first_heading():
  read = paragraphs("a\n\nb\n==c==\nd\n===e===\nf", EN)
  assert [p.abstract for p in read] == [True, True, False, False]


def test_sections():
  read = paragraphs("{{x}}\n== a ==\n== b ==\nc [[d]]\n* [[e]]\n== f ==\ng", EN, sections=True)
  assert [(p.text, p.abstract) for p in read] == [("c d\ne", True), ("g", False)]
  assert [read[0].text[link.start : link.end] for link in read[0].links] == ["d", "e"]


@pytest.mark.parametrize(
  ("wikitext", "kind"),
  [
    ("{{a", "unclosed template"),
    ("a}}", "unopened template"),
    ("{|\n|a", "unclosed table"),
    ("a\n|}", "unopened table"),
    ("<table>", "unclosed table"),
    ("<!-- a", "unclosed comment"),
    ("<ref>a", "unclosed tag"),
    ("[[a|b", "unclosed link"),
    ("a]]", "unopened link"),
    ("a\n| b", "stray table row"),
  ],
)
def test_what_could_not_be_read_is_counted(wikitext, kind):
  faults = Counter()
  paragraphs(wikitext, EN, faults=faults)
  assert faults[kind] == 1


def test_sound_markup_has_no_faults():
  faults = Counter()
  sound = "{{a|{{b}}}} [[c|d]] [[File:e|f [[g]]]]\n{|\n|h\n|}\n<ref>i</ref><!-- j --> <b>k</b>"
  paragraphs(sound, EN, faults=faults)
  assert not faults


@pytest.mark.parametrize(
  ("language", "wikitext", "lines", "links"),
  [
    ("de", "[[Bild:A.jpg|b]] [[Straße|c]]\n[[Kategorie:D]]", ["c"], [("c", "Straße")]),
    ("ru", "[[Файл:А.jpg|б]][[москва]]\n[[Категория:Города]]", ["москва"], [("москва", "Москва")]),
    ("ar", "[[ملف:A.jpg]][[القاهرة]] مدينة\n[[تصنيف:مدن]]", ["القاهرة مدينة"], None),
    ("ja", "[[ファイル:A.jpg]][[東京]]は都市", ["東京は都市"], [("東京", "東京")]),
    ("zh", "-{zh-hans:计算机; zh-hant:電腦}-和-{中文}--{H|zh:a}-", ["计算机和中文"], []),
    ("tr", "[[istanbul]]'da", ["istanbul'da"], [("istanbul", "İstanbul")]),
  ],
)
def test_other_languages(language, wikitext, lines, links):
  found = read(wikitext, wiki_site.site(language))
  assert found[0] == lines
  assert links is None or found[1] == links


@pytest.mark.parametrize(
  ("language", "wikitext", "expected"),
  [
    ("en", "a\n{{disambiguation}}", True),
    ("en", "a\n{{ Human_name  disambiguation |b}}", True),
    ("en", "{{Template:Geodis}}", True),
    ("en", "__DISAMBIG__", True),
    ("en", "{{disambiguation needed}}", False),
    ("en", "{{For|a|b (disambiguation)}}", False),
    ("en", "<nowiki>{{disambiguation}}</nowiki><!-- {{disambig}} -->", False),
    ("nl", "{{dp}}", True),
    ("nl", "{{Sjabloon:Dp}}", True),
    ("nl", "{{geodis}}", False),
    ("de", "{{Begriffsklärung}}", True),
    ("ru", "{{неоднозначность}}", True),
    ("ja", "{{aimai}}", True),
    ("ar", "{{توضيح}}", True),
    ("pt", "{{Desambiguação|a}}", True),
    ("xx", "{{disambig}}", True),
  ],
)
def test_disambiguation(language, wikitext, expected):
  assert read_wikitext(wikitext, wiki_site.site(language)).disambiguation is expected


def test_a_page_longer_than_any_is_read_in_parts():
  faults = Counter()
  line = "[[a]]" + " b" * 4000
  read = paragraphs(f"{line}\n" * 600, EN, faults=faults)
  assert read == [Paragraph("a" + " b" * 4000, read[0].links, True)] * 600
  assert faults == {"page read in parts": 1}
