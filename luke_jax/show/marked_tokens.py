"""Word pieces or words as one line of text, with spans marked in it."""

import itertools
from collections.abc import Sequence

from luke_jax.tasks.ner.tags import Labelled
from luke_jax.text import Tokenizer

MOST, BEFORE = 30, 8  # pieces of a line; and those before its first mark, where it is cut
INSIDE, CUT = "·", "…"  # between two pieces that no space parts, and where pieces are left out


def pieces_of(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
  """Returns the text of each piece, with the space that is before it."""
  # The first pieces of a character are no text; the last one of them has all of it.
  texts = [tokenizer.decode(ids[:count]).rstrip("\ufffd") for count in range(len(ids))]
  texts.append(tokenizer.decode(ids))
  return [text[len(before) :] for before, text in itertools.pairwise(texts)]


def stretch(length: int, marks: Sequence[Labelled]) -> tuple[int, int]:
  """Returns which of so many pieces make a line, the first mark among them."""
  first = min((mark.start for mark in marks), default=0)
  start = 0 if first < MOST - BEFORE else first - BEFORE
  return start, min(start + MOST, length)


def marked(pieces: Sequence[str], marks: Sequence[Labelled]) -> str:
  """Returns a line of pieces with marks as in `[Los An·geles](LOC) is`; of long ones a part."""
  first, last = stretch(len(pieces), marks)
  line = f"{CUT} " * (first > 0)
  for place in range(first, last):
    opened = "[" * sum(mark.start == place for mark in marks)
    ending = sorted((mark for mark in marks if mark.end == place + 1), reverse=True)
    closed = "".join(f"]({mark.label})" if mark.label else "]" for mark in ending)
    between = " " if pieces[place][:1].isspace() else INSIDE
    line += f"{between if place > first else ''}{opened}{pieces[place].strip()}{closed}"
  return line + f" {CUT}" * (last < len(pieces))
