"""Marked spans in texts: colours of labels, and lines of word pieces."""

import io
import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tiny import tiny_processor

from luke_jax import english
from luke_jax.serve.service import coloured
from luke_jax.show import entities, relations
from luke_jax.show.marked import (
  MOST_PIECES,
  hue,
  marked_line,
  pieces_of,
  terminal_colour,
  terminal_text,
)
from luke_jax.tasks.evaluation import Mark
from luke_jax.tasks.predictions import Labelled, Span

GREEN, RED = range(61, 180), (*range(345, 360), *range(15))
SAMPLE = Path(__file__).parents[2] / "data" / "sample_tasks" / "types.tsv"


def sample_labels():
  rows = [line.split("\t") for line in SAMPLE.read_text(encoding="utf-8").splitlines()[1:]]
  return sorted({label for row in rows for label in row[2].split("|")})


def english_labels(task):
  config = Path(english.__file__).parent / task / "config.json"
  return list(json.loads(config.read_text(encoding="utf-8"))["id2label"].values())


def distance(one, other):
  apart = abs(hue(one) - hue(other))
  return min(apart, 360 - apart)


@pytest.mark.parametrize(
  "names",
  [
    ("PER", "per", "person", "PERSON", "Person"),
    ("LOC", "location", "LOCATION", "place"),
    ("ORG", "organization", "organisation", "ORGANIZATION"),
    ("MISC", "misc", "miscellaneous"),
    ("WORK_OF_ART", "work of art", "work"),
  ],
)
def test_names_of_the_same_kind_have_the_same_colour(names):
  assert len({hue(name) for name in names}) == 1
  assert len({terminal_colour(name) for name in names}) == 1


@pytest.mark.parametrize(
  "labels",
  [
    ("PER", "LOC", "ORG", "MISC"),
    ("person", "place", "organization", "event", "other"),
    ("head", "tail"),
  ],
)
def test_usual_labels_are_far_apart(labels):
  assert all(distance(*pair) > 25 for pair in itertools.combinations(labels, 2))
  assert len({terminal_colour(label) for label in labels}) == len(labels)


@pytest.mark.parametrize("labels", [sample_labels(), english_labels("ner")])
def test_the_labels_of_a_set_have_different_colours(labels):
  assert len({hue(label) for label in labels}) == len(labels) > 4


@pytest.mark.parametrize("kinds", [("person", "writer"), ("place", "city"), ("work", "book")])
def test_a_kind_of_something_has_a_neighbouring_colour(kinds):
  assert 0 < distance(*kinds) < 25


@given(st.text(max_size=8))
def test_a_colour_depends_on_the_label_alone_and_is_neither_green_nor_red(label):
  found = hue(label)
  assert 0 <= found < 360 and found not in GREEN and found not in RED
  assert "red" not in terminal_colour(label) and "green" not in terminal_colour(label)
  with_others = entities("Ana met Bo in Oslo", [(0, 3, "PER"), (8, 10, label), (14, 18, "a")]).html
  assert f'<mark class="span" style="--hue: {found}">Bo<small>' in with_others


def test_unusual_labels_rarely_share_a_colour():
  labels = [f"label {number}" for number in range(40)]
  assert len({hue(label) for label in labels}) > 30


def test_a_label_has_the_same_colour_everywhere(read):
  (mark,) = read(entities("Ana sang.", [(0, 3, "PER")]).html).named("mark")
  assert mark["style"] == f"--hue: {hue('PER')}"
  assert coloured([Span("Ana", 0, 3, "PER", 0.9)])[0]["hue"] == hue("PER")
  arc = read(relations("Ana sang to Bo.", [((0, 3), (12, 14), "PER")]).html)
  assert f"--hue: {hue('PER')}" in {tag.get("style") for tag in arc.named("g")}
  console = Console(file=io.StringIO(), force_terminal=True, color_system="standard")
  console.print(terminal_text("Ana sang.", [Mark(0, 3, "person")]))
  assert terminal_colour("PER") == "blue" and "\x1b[1;34mAna" in console.file.getvalue()


def test_spans_are_marked():
  pieces = [" Ana", " in", " Los", " An", "geles", "."]
  assert marked_line(pieces, [Labelled(2, 5, "LOC"), Labelled(0, 1, "")]) == (
    "[Ana] in [Los An·geles](LOC)·."
  )
  nested = [Labelled(2, 5, "A"), Labelled(3, 5, "B"), Labelled(2, 3, "C")]
  assert marked_line(pieces, nested) == "Ana in [[Los](C) [An·geles](B)](A)·."


def test_long_lines_are_cut_around_the_first_mark():
  pieces = [f" {number}" for number in range(100)]
  assert marked_line(pieces, []) == f"{' '.join(map(str, range(MOST_PIECES)))} …"
  assert marked_line(pieces, [Labelled(50, 51, "X")]).startswith(
    "… 42 43 44 45 46 47 48 49 [50](X) 51"
  )


@given(st.text(st.sampled_from("Abé 東!"), max_size=8))
def test_pieces_are_the_text(text):
  tokenizer = tiny_processor().tokenizer
  (tokens,) = tokenizer.encode([text])
  assert "".join(pieces_of(tokenizer, tokens.ids)) == tokenizer.decode(tokens.ids)
