"""Annotations are what a search by hand finds, at exact offsets, and are shown as they are."""

import html
import io
import itertools
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from small_wikis import build_wiki

from luke_jax.cli import main, wiki_annotate
from luke_jax.wiki.mentions import (
  BuiltPages,
  Mentions,
  annotate,
  annotate_with,
  make_mentions,
  names_on_page,
)
from luke_jax.wiki.stages.engines import local
from luke_jax.wiki.stages.mentions import Filter
from luke_jax.wiki.stages.tokens import TOKEN, folded_token, name_of

PAGES = {
  "New York": "A city of the [[United States|US]] is this one, [[New York (state)|New York]].",
  "New York City": "In [[New York (state)|New York]] lies the [[New York|city of New York]] there.",
  "New York (state)": "The state with [[New York|New York]] and [[York]] and [[New]]s and [[The]].",
  "York": "[[York]] is a city, and [[York Minster]] and [[Beyoncé|Beyonce]] are in York or not.",
  "United States": "The [[United States|the US]] is a country, [[東京]] is none, nor is the us.",
  "York Minster": "A church of [[York]] that has nothing to do with <new> [[A & B|A & B]] here.",
  "東京": "A city, of which the new and the US and New York say 東京は and also [[York|new]].",
  "A & B": "Two letters that are in the [[Alias|alphabet]] and in [[Alias|new york]] as well.",
  "The": "The article of [[New|the]] and [[The|the]] and the and the and the and [[Nowhere]].",
  "New": "What was not there before is new, as [[New York]] and [[The|new]] and the new [[York]].",
  "Beyoncé": "A singer who was not born in [[New York]] but in [[Houston]], and [[York|not]] so.",
  "Alias": "#REDIRECT [[United States]]",
}
TEXTS = st.lists(
  st.sampled_from(
    ["New", "york", "city of", "the", "US", "Beyoncé", "BEYONCE", "東京", "は", "\n", "<b>", "is"]
  ),
  max_size=25,
).flatmap(lambda words: st.sampled_from([" ", "  ", "", "-"]).map(lambda gap: gap.join(words)))


@pytest.fixture(scope="module")
def wiki(tmp_path_factory):
  folder = build_wiki(tmp_path_factory.mktemp("wiki") / "en", PAGES)
  with local(1) as engine:
    make_mentions(folder, Filter(min_link_probability=0.0), engine)
  return folder


@pytest.fixture(scope="module")
def mentions(wiki):
  return Mentions(wiki)


def by_hand(text, known):
  """The longest known name at each place, from left to right: spans and what `known` says."""
  spans = [match.span() for match in TOKEN.finditer(text)]
  found, at = [], 0
  while at < len(spans):
    for stop in range(len(spans), at, -1):
      name = " ".join(folded_token(text[start:end]) for start, end in spans[at:stop])
      if name in known:
        found.append((spans[at][0], spans[stop - 1][1], known[name]))
        at = stop - 1
        break
    at += 1
  return found


@given(
  text=st.one_of(TEXTS, st.text()),
  least=st.sampled_from([0.0, 0.2, 0.6]),
  prior=st.sampled_from([0.0, 0.4]),
)
def test_annotations_are_the_longest_names_from_the_left(mentions, text, least, prior):
  known = {}
  for number, name in enumerate(mentions.names.strings):
    (probability,) = mentions.link_probabilities([number])
    candidates = tuple(mentions.candidates(number, prior))
    if probability >= least and candidates:
      known[name] = (probability, candidates)
  found = annotate(text, mentions, min_link_probability=least, min_prior=prior)
  assert [(x.start, x.end, tuple(x[2:])) for x in found] == by_hand(text, known)
  for before, after in itertools.pairwise(found):
    assert before.end <= after.start
  for annotation in found:
    assert name_of(text[annotation.start : annotation.end], 20) in known


@given(text=TEXTS)
def test_the_names_of_a_page_are_the_longest_from_the_left(wiki, mentions, text):
  names = names_on_page(BuiltPages(wiki).page("New"), mentions, min_link_probability=0.0)
  names |= {"new york city of": "Longest", "the": "Short"}
  found = annotate_with(text, names)
  assert [tuple(x) for x in found] == by_hand(text, names)


def test_probabilities(mentions):
  (found,) = annotate("of new york", mentions, min_link_probability=0.0)
  assert found[:2] == (3, 11)
  assert [x.title for x in found.candidates] == ["New York", "New York (state)", "United States"]
  assert [x.prior for x in found.candidates] == pytest.approx([3 / 6, 2 / 6, 1 / 6])
  # It stands on seven pages: 東京 and the six that link.
  assert found.link_probability == 6 / 7


def test_names_that_mean_two_pages_are_dropped(wiki, mentions):
  built = BuiltPages(wiki)
  assert names_on_page(built.page("New"), mentions) == {
    "new york": "New York",
    "new": "The",
    "york": "York",
  }
  assert names_on_page(built.page("The"), mentions, min_link_probability=0.0) == {}
  assert names_on_page(built.page("A & B"), mentions)["new york"] == "United States"  # a redirect
  high = names_on_page(built.page("New"), mentions, min_link_probability=0.9)
  assert set(high) < {"new york", "new", "york"}


def test_a_hash_that_two_names_share_is_no_name(mentions, monkeypatch):
  text = "Beyoncé"
  assert annotate(text, mentions, min_link_probability=0.0)
  monkeypatch.setattr("luke_jax.wiki.mentions.folded_token", lambda token: "another")
  assert not annotate(text, mentions, min_link_probability=0.0)


def command(capsys, *arguments):
  status = main(["wiki", "annotate", *map(str, arguments)])
  printed = capsys.readouterr()
  return status, printed.out, printed.err


def rows_of(printed):
  return [json.loads(line) for line in printed.splitlines()]


def test_a_file_and_its_text_give_the_same_rows(wiki, tmp_path, capsys):
  text = "\nNew York, the US\r\nand 東京.\n\n\x85BEYONCE\u2028of York\n"
  file = tmp_path / "a text.txt"
  file.write_bytes(text.encode())
  status, printed, _ = command(capsys, wiki, file, "--min-link-probability", 0)
  assert status == 0
  rows = rows_of(printed)
  assert rows == rows_of(command(capsys, wiki, text, "--min-link-probability", "0.0")[1])
  assert [row["text"] for row in rows] == ["New York", "the US", "東京", "BEYONCE", "York"]
  for row in rows:
    assert text[row["start"] : row["end"]] == row["text"]
  assert rows[0]["title"] == "New York"
  assert rows[0]["others"][0]["title"] == "New York (state)"
  output = tmp_path / "rows.jsonl"
  told = command(capsys, wiki, file, "--min-link-probability", 0, "--output", output)[1]
  assert told == f"{output}: 5 names\n"
  assert rows_of(output.read_text(encoding="utf-8")) == rows


def test_a_page_decides(wiki, capsys):
  _, printed, _ = command(capsys, wiki, "In new york the", "--page", "A_%26_B")
  assert rows_of(printed) == [{"start": 3, "end": 11, "text": "new york", "title": "United States"}]


def test_the_page_shows_the_text_and_runs_nothing(wiki, tmp_path, capsys):
  text = '<script>x</script> A & B "New York"\n<b>York'
  file = tmp_path / "page.html"
  assert command(capsys, wiki, text, "--html", file, "--min-link-probability", 0)[0] == 0
  page = file.read_text(encoding="utf-8")
  assert "<script" not in page
  assert "http" not in page
  marks = re.findall(r'<mark title="([^"]*)">([^<]*)</mark>', page)
  assert "New York" in [inside for _, inside in marks]
  assert any("New York 50%" in html.unescape(title) for title, _ in marks)
  shown = re.findall(r"<p>(.*?)</p>", page)
  assert "\n".join(html.unescape(re.sub("<[^>]*>", "", line)) for line in shown) == text


def test_a_terminal_shows_names_and_no_control_characters(mentions):
  text = "\x1b[2J[bold]York\x07 is [/] 東京"
  found = annotate(text, mentions, min_link_probability=0.0)
  printed = io.StringIO()
  console = Console(file=printed, force_terminal=True, width=100, color_system=None)
  wiki_annotate._show(console, text, found)
  assert "[2J[bold]York" in printed.getvalue()
  assert "\x1b" not in printed.getvalue()
  assert "\x07" not in printed.getvalue()
  assert "York 100%" in printed.getvalue()


@pytest.mark.parametrize(
  "arguments, line",
  [
    (("x", "--page", "No such page"), "--page 'No such page': no such page in"),
    (("x", "--page", "York", "--min-prior", "0.1"), "--min-prior: given with --page"),
    (("x", "--min-link-probability", "2"), "--min-link-probability: 2.0; expected a number"),
    (("x", "--min-prior", "nan"), "--min-prior: nan; expected a number"),
    (("\udcff",), "the text: not UTF-8; expected a text"),
    (("x", "--output", "no/such/folder"), "no/such"),
  ],
)
def test_bad_input_is_one_line(arguments, line, wiki, capsys):
  status, printed, error = command(capsys, wiki, *arguments)
  assert status == 2
  assert printed == ""
  assert error.startswith("luke-jax: ")
  assert error.count("\n") == 1
  assert line in error


def test_a_damaged_file_leaves_no_output(wiki, tmp_path, capsys):
  file = tmp_path / "text.txt"
  file.write_bytes(b"York\n" * 5000 + b"\xff\n")
  output, page = tmp_path / "rows.jsonl", tmp_path / "page.html"
  status, _, error = command(capsys, wiki, file, "--output", output, "--html", page)
  assert status == 2
  assert f"{file}: line 5001 is not UTF-8" in error
  assert list(tmp_path.iterdir()) == [file]


def test_a_folder_without_a_table(tmp_path, capsys):
  status, _, error = command(capsys, tmp_path, "x")
  assert status == 2
  assert "no table of mentions; expected luke-jax wiki mentions" in error
