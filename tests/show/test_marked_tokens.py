"""Lines of word pieces with spans marked in them."""

from hypothesis import given
from hypothesis import strategies as st
from tiny import tiny_processor

from luke_jax.show.marked_tokens import MOST, marked, pieces_of
from luke_jax.tasks.ner.tags import Labelled


def test_spans_are_marked():
  pieces = [" Ana", " in", " Los", " An", "geles", "."]
  assert marked(pieces, [Labelled(2, 5, "LOC"), Labelled(0, 1, "")]) == (
    "[Ana] in [Los An·geles](LOC)·."
  )
  nested = [Labelled(2, 5, "A"), Labelled(3, 5, "B"), Labelled(2, 3, "C")]
  assert marked(pieces, nested) == "Ana in [[Los](C) [An·geles](B)](A)·."


def test_long_lines_are_cut_around_the_first_mark():
  pieces = [f" {number}" for number in range(100)]
  assert marked(pieces, []) == f"{' '.join(map(str, range(MOST)))} …"
  assert marked(pieces, [Labelled(50, 51, "X")]).startswith("… 42 43 44 45 46 47 48 49 [50](X) 51")


@given(st.text(st.sampled_from("Abé 東!"), max_size=8))
def test_pieces_are_the_text(text):
  tokenizer = tiny_processor().tokenizer
  (tokens,) = tokenizer.encode([text])
  assert "".join(pieces_of(tokenizer, tokens.ids)) == tokenizer.decode(tokens.ids)
