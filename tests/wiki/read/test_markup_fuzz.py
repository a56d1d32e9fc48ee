import gc
import time
from itertools import product

import pytest
import wiki_site
from hypothesis import given
from hypothesis import strategies as st
from wiki_site import paragraphs

EN, ZH = wiki_site.site("en"), wiki_site.site("zh")
FRAGMENTS = (
  *("[[", "]]", "[", "]", "|", "{{", "}}", "{{{", "}}}", "{|", "|}", "|-", "||", "!", "{", "}"),
  *("''", "'''", "'", "<ref>", "</ref>", "<ref name=a/>", "<!--", "-->", "<nowiki>", "</nowiki>"),
  *("<b>", "</b>", "<br/>", "<table>", "</table>", "<math>", "</math>", "<", ">", "</", "/>"),
  *("[[File:", "[[Category:", "[[fr:", "[[:", "[http://a ", "http://", "#", ":", "*", ";", "\n"),
  *("==", "\n== ", " ==\n", "----", "__NOTOC__", "__", "&nbsp;", "&amp;", "&#91;", "&#10;", "&"),
  *("-{", "}-", "~~~", "_", "%41", "%", " ", "\t", "\u00a0", "\u2028", "\0", "\r", "a", "Paris"),
  *("東京", "القاهرة", "Москва", "é", "\U0001f600", "\ud800"),
  *("{{nowrap|", "{{lang|fr|", "{{ill|", "{{convert|5|", "{{snd}}", "{{ship|A|", "{{c.|", "1="),
)
markup = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=60).map("".join)


@given(markup, st.sampled_from([EN, ZH]), st.booleans())
def test_whatever_is_written(wikitext, site, sections):
  for text, links, abstract, section in paragraphs(wikitext, site, sections=sections):
    assert text and text == text.strip()
    assert sections or "\n" not in text
    assert isinstance(abstract, bool) and section == section.strip()
    at = 0
    for link in links:
      assert link.text == text[link.start : link.end] == link.text.strip() != ""
      assert at <= link.start
      assert link.target and "\n" not in link.target
      at = link.end


@given(markup)
def test_sections_hold_the_same_text(wikitext):
  lines = paragraphs(wikitext, EN)
  whole = paragraphs(wikitext, EN, sections=True)
  assert "\n".join(p.text for p in lines) == "\n".join(p.text for p in whole)
  assert [link[:2] for p in lines for link in p.links] == [
    link[:2] for p in whole for link in p.links
  ]


@given(st.text("abc ,.()-?é東Ж\n\t", max_size=80))
def test_plain_text_stays(text):
  expected = [
    line.strip().lstrip("-") if line.strip().startswith("----") else line.strip()
    for line in text.split("\n")
  ]
  read = paragraphs(text, EN)
  assert [p.text for p in read] == [line.strip() for line in expected if line.strip()]
  assert paragraphs("\n".join(p.text for p in read), EN) == read


NASTY = (
  *("[[", "[[a|", "[[File:a|", "]]", "{{", "{{{", "}}", "\n{|", "\n|}", "'''", "<ref>", "</ref>"),
  *("<!--", "<nowiki>", "<table>", "[http:", "<b ", "&", "__a", "-{", "\n=", "[[a", "|", "en:"),
  *("a", " ", "\n", "{{small|", "{{linktext|a|b"),
)


def seconds(wikitext):
  gc.disable()  # whose share of the time grows with all that other tests left
  start = time.process_time()
  paragraphs(wikitext, ZH)
  taken = time.process_time() - start
  gc.enable()
  return taken


def grows(fragment, small):
  """How many times longer eight times as much takes, at the best of some tries."""
  short, long = fragment * (small // len(fragment)), fragment * (8 * small // len(fragment))
  return min(seconds(long) for _ in range(2)) / max(1e-4, min(seconds(short) for _ in range(3)))


# Eight times as much takes about eight times as long; at quadratic time, 64 times.
@pytest.mark.parametrize("fragment", NASTY)
def test_time_is_linear(fragment):
  assert any(grows(fragment, 20_000) < 32 for _ in range(5))


def test_time_is_linear_where_files_nest_around_a_heading():
  times = [seconds("[[File:a|" * n + "\n=\n" + "]]" * n) for n in (4_000, 32_000)]
  assert times[1] < 24 * max(times[0], 0.01)


@pytest.mark.parametrize("more", ["|x|5", "|=", "|a=[[b]]"])
def test_time_is_linear_in_the_parameters_of_a_template(more):
  times = [seconds("{{convert|5" + more * n + "|km}}") for n in (4_000, 32_000)]
  assert times[1] < 24 * max(times[0], 0.01)


@pytest.mark.parametrize("name", ["small", "ship|A", "nowrap|b{{lang|fr|c}}[[d]]"])
def test_time_is_linear_where_templates_nest(name):
  times = [seconds(f"{{{{{name}|" * n + "a" + "}}" * n) for n in (2_000, 16_000)]
  assert times[1] < 24 * max(times[0], 0.01)


@pytest.mark.slow
@pytest.mark.parametrize("first", NASTY)
def test_time_is_linear_for_pairs(first):
  for second in NASTY:
    fragment = first + second
    assert any(grows(fragment, 5_000) < 32 for _ in range(4)), fragment


@pytest.mark.parametrize(
  "fragments", list(product(("[[", "{{", "\n{|", "<ref>", "[[File:"), repeat=2))
)
def test_nothing_nests_too_deep(fragments):
  first, second = fragments
  closing = {"[[": "]]", "{{": "}}", "\n{|": "\n|}", "<ref>": "</ref>", "[[File:": "]]"}
  deep = (first + second) * 20_000 + "a" + (closing[second] + closing[first]) * 20_000
  paragraphs(deep + "\nb", EN)


@pytest.mark.slow
@pytest.mark.parametrize("fragment", ["[[", "{{", "[]", "[[a]]", "{{a}}"])
def test_a_page_of_8_megabytes(fragment):
  assert seconds(fragment * (8_000_000 // len(fragment))) < 20
