"""Reviews in the form of Tang et al. (2015): user, product, rating and text, between two tabs each.

    u1\t\tp7\t\t4\t\tthe room was small . <sssss> we do n't mind .

The text is cleaned as the authors of MA-BERT do.
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import lines

REVIEWS = ".ss"
FIELDS = ("user", "product", "label", "text")
_SENTENCE = "<sssss>"
_DROPPED = re.compile(r"[^A-Za-z0-9(),!?\'.`]+")


def reviews(
  path: Path, attributes: Sequence[str]
) -> Iterator[tuple[str, Callable[[], Mapping[str, object]]]]:
  """Yields the place of each review, and a function that returns its fields.

  User and product are among them where they are attributes that are asked for.
  """
  wanted = ("label", "text", *attributes)
  for number, line in lines(path):
    if line.strip():
      place = f"{path}: line {number}"
      yield place, functools.partial(_fields, line, wanted, place)


def _fields(line: str, wanted: Sequence[str], place: str) -> Mapping[str, str]:
  parts = line.split("\t\t")
  if len(parts) != len(FIELDS):
    raise InputError(
      f"{place}: {len(parts)} parts between two tabs; expected user, product, rating and text"
    )
  fields = dict(zip(FIELDS, parts, strict=True))
  fields["label"] = fields["label"].strip()
  if not fields["label"].isdecimal():
    raise InputError(f"{place}: rating {fields['label']!r}; expected a whole number")
  fields["text"] = cleaned(fields["text"])
  return {name: x for name, x in fields.items() if name in wanted}


def cleaned(text: str) -> str:
  """Returns a review without marks of sentences and rare characters, in small letters."""
  text = text.replace(_SENTENCE, " ").replace(" n't", "n't")
  return " ".join(_DROPPED.sub(" ", text).lower().split())
