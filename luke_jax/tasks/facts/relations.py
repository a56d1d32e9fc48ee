"""Relations by the words that people use for them: born in is a place of birth."""

import csv
import difflib
import functools
from collections.abc import Mapping, Sequence

from luke_jax.errors import InputError
from luke_jax.files import packaged

NEAR = 3  # relations that a message names
_SMALL = {"a", "by", "in", "is", "of", "on", "or", "the", "to", "was", "with"}


def meant(asked: Sequence[str], labels: Sequence[str]) -> list[str]:
  """Returns those of a model's relations that are asked for, by their names or in other words.

  Names may have commas, at which what is asked may have been parted. Raises InputError for words
  that mean none of them.
  """
  if not asked:
    raise InputError(f"relations: none; expected some, such as {labels[0]}")
  known = _by_words(tuple(labels))
  found: dict[str, None] = {}
  first = 0
  while first < len(asked):
    ends = range(len(asked), first, -1)
    words = ((", ".join(asked[first:end]), end) for end in ends)
    text, end = next((x for x in words if _key(x[0]) in known), (asked[first], first))
    if end == first:
      inside = [x for x in known if {*_key(text).split()} & {*x.split()} - _SMALL]
      near = inside[:NEAR] or difflib.get_close_matches(_key(text), known, n=NEAR, cutoff=0.4)
      near = [known[x][0] for x in near]
      hint = f"perhaps {' or '.join(dict.fromkeys(near))}" if near else f"such as {labels[0]}"
      expected = f"expected some of the {len(labels)} relations that the model knows, {hint}"
      raise InputError(f"relations: {text!r:.60}: not known; {expected}")
    found |= dict.fromkeys(known[_key(text)])
    first = end
  return list(found)


@functools.lru_cache(8)
def _by_words(labels: tuple[str, ...]) -> Mapping[str, list[str]]:
  """Returns the relations that words may mean: a name means one, other words perhaps several."""
  words: dict[str, list[str]] = {}
  table = packaged("tasks/facts/relations.tsv")
  for label, others in csv.reader(table.splitlines(), delimiter="\t"):
    for text in others.split("; ") if label in labels else ():
      words.setdefault(_key(text), []).append(label)
  return words | {_key(label): [label] for label in labels}


def _key(text: str) -> str:
  return " ".join(text.casefold().split())
