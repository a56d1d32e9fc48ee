"""Names that are found in texts without links, and those that are part of something else."""

import time

import pytest
import wiki_site
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.wiki.read.dump import RawPage
from luke_jax.wiki.read.own_names import own_names
from luke_jax.wiki.read.pages import page_from_raw
from luke_jax.wiki.read.texts import Document, page_from_document
from luke_jax.wiki.stages.plain_mentions import KnownName, PlainMentions, as_string
from luke_jax.wiki.stages.tokens import name_of, write_named

KNOWN = [
  KnownName("New Ana", "New Ana", "title"),
  KnownName("New Ana Club", "New Ana Club", "title"),
  KnownName("Lee", "Lee (moth)", "table"),
]


@pytest.fixture(scope="module")
def finder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("names")
  write_named(folder, ((name_of(x.surface, 9), as_string(x)) for x in KNOWN))
  return PlainMentions(folder)


def page(title, text):
  return page_from_document(Document(1, title, text), "en")


def found(finder, title, text):
  """What is linked, as text with brackets and signs of the sources."""
  signs = {"own-title": "!", "own-short": "~", "title": "=", "table": "#"}
  lines = []
  for paragraph in finder.linked(page(title, text)).paragraphs:
    out, at = "", 0
    for link in paragraph.links:
      assert paragraph.text[link.start : link.end] == link.text and link.start >= at
      out += paragraph.text[at : link.start] + f"[{signs[link.source]}{link.text}]"
      at = link.end
    lines.append(out + paragraph.text[at:])
  return "\n".join(lines)


LIFE = "Bo von Ott (born 1900 in Rome) was a poet. "
CASES = {
  ("Rome", "Rome is old. Early Rome, New Rome, Rome Street and Rome's wall."): (
    "[!Rome] is old. Early [!Rome], New Rome, Rome Street and [!Rome]'s wall."
  ),
  ("Sea", "A sea is deep. The Sea of Lee is a lake; the sea is not."): (
    "A [!sea] is deep. The Sea of [#Lee] is a lake; the [!sea] is not."
  ),
  ("After (film)", "After is a film. After it came more."): "After is a film. After it came more.",
  ("Ott (town)", "Ott is a town. St. Ott, Rome-Ott, Otts and Ott 2 are not."): (
    "[!Ott] is a town. St. Ott, Rome-Ott, Otts and Ott 2 are not."
  ),
  ("Bo von Ott", LIFE + "He won. In 1920 von Ott sang. Ott sang. Al Ott too. Bo did."): (
    "[!Bo von Ott]"
    + LIFE[10:]
    + "He won. In 1920 [~von Ott] sang. [~Ott] sang. Al Ott too. Bo did."
  ),
  ("Yang Bo", "Yang Bo (born 1950) is a poet. He is old. Then Yang won. Yang lost."): (
    "[!Yang Bo] (born 1950) is a poet. He is old. Then [~Yang] won. [~Yang] lost."
  ),
  ("Cora, Ohio", "Cora is a town in Ohio."): "[~Cora] is a town in Ohio.",
  ("USS Lee Hall", 'USS "Lee Hall" was a ship. "Lee Hall" sank.'): (
    'USS "[~Lee Hall]" was a ship. "[~Lee Hall]" sank.'
  ),
  ("Old Rome Club", "The Old Rome Club (ORC) is a club. The ORC won."): (
    "The [!Old Rome Club] ([~ORC]) is a club. The [~ORC] won."
  ),
  ("X", "New Ana is near new Ana, NEW ANA and the New Ana Club; Lee's too, in 1990 New Ana."): (
    "[=New Ana] is near new Ana, NEW ANA and the [=New Ana Club]; [#Lee]'s too, in 1990 New Ana."
  ),
  ("New Ana", "New Ana is a town."): "[!New Ana] is a town.",
  ("Bo Ott (album)", 'Bo Ott is an album of Bo Ott. Bo Ott likes "Bo Ott" and Bo Ott\u00a02.'): (
    '[!Bo Ott] is an album of [!Bo Ott]. Bo Ott likes "[!Bo Ott]" and Bo Ott\u00a02.'
  ),
  ("Bo", '"Bo", "Bo\'s" and "Bo in Rome" are books. "I saw Bo in a small town," he says.'): (
    '"[!Bo]", "[!Bo]\'s" and "Bo in Rome" are books. "I saw [!Bo] in a small town," he says.'
  ),
}


@pytest.mark.parametrize(("given", "expected"), CASES.items())
def test_texts(finder, given, expected):
  assert found(finder, *given) == expected


def test_repeats_of_linked_names():
  text = "[[Rome]] and [[Ana Lee Club|ALC]]s, [[Ana (moth)|Ana]], [[Lee Bay|Leean]] [[moth]]s and"
  text += " [[Rome (film)|Roma]].\nRome, ALC, Ana, Leean, a moth, Roma in the old Xo; Rome Street."
  text += "\n[[Old Xo|Xo]] [[New Xo|Xo]]"
  raw = page_from_raw(RawPage(1, "Old Bo", 0, None, text), wiki_site.site("en"))
  linked = PlainMentions(None).linked(raw)
  assert [link.source for link in linked.paragraphs[0].links] == ["link"] * 6
  again = linked.paragraphs[1].links
  assert {link.source for link in again} == {"repeat"}
  assert [(x.text, x.target) for x in again] == [
    ("Rome", "Rome"),
    ("ALC", "Ana Lee Club"),
    ("Ana", "Ana (moth)"),
  ]


def test_sources_can_be_left_out(finder):
  bare = PlainMentions(finder._names.strings.folder, frozenset({"title", "own-title"}))
  assert found(bare, "Rome", "Rome, New Ana, Lee.") == "Rome, New Ana, [#Lee]."
  assert found(PlainMentions(None), "Rome", "Rome, New Ana.") == "[!Rome], New Ana."


TITLES = ("Rome", "Lee (moth)", "Bo Lee", "Ana, Lee", ".", "The New Ana", "")
PARTS = ("Rome", "New Ana", "Lee", " ", ".", " of ", "A", "é", "\n", "'s", '"', "1990", "he born")


@given(st.sampled_from(TITLES), st.lists(st.sampled_from(PARTS), max_size=40).map("".join))
def test_any_text(finder, title, text):
  linked = finder.linked(page(title, text))
  for paragraph in linked.paragraphs:
    at = 0
    for link in paragraph.links:
      assert at <= link.start < link.end and paragraph.text[link.start : link.end] == link.text
      at = link.end


@pytest.mark.parametrize(
  "again", ["Rome ", "Rome", "New Ana ", "New ", "New Ana Club, ", '"Rome" ', "Ott Ott "]
)
def test_time(finder, again):
  text = LIFE + again * (100_000 // len(again))
  start = time.process_time()
  finder.linked(page("Rome" if "Rome" in again else "Bo Ott", text))
  assert time.process_time() - start < 2


def test_names_of_a_page():
  assert own_names(page("Lee (moth)", "A lee is a moth.")) == (("Lee", "lee"), (), False)
  assert own_names(page("The", "The is a word."))[0] == ()
  assert own_names(page("Lee (disambiguation)", "Lee is a moth.")).titles == ()
  assert own_names(page("Code: Ana Lee", "He and his and her and she."))[1] == ()
