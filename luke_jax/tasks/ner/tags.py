"""Tags of words and the chunks they make: IOB1, IOB2 (or BIO), BIOES (or IOBES) and BMESO.

A tag is O, or a prefix and a label: I of a word inside of a chunk, B of its first, E of its last
and S of its only one. IOB1 has B only where a chunk touches one before it of the same label. BMESO
has M where BIOES has I.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from luke_jax.errors import InputError
from luke_jax.tasks.predictions import Labelled

Scheme = Literal["IOB2", "IOB1", "BIOES", "BMESO"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
# The option that reads tags that are not legal where they stand.
REPAIR = "--repair-tags (in training --set task.repair_tags=true) reads it as conlleval does"
_TAG = re.compile(r"[BIMES]-\S+")
PREFIXES: Mapping[Scheme, str] = {"IOB2": "BI", "IOB1": "IB", "BIOES": "BIES", "BMESO": "BMES"}
# Of the schemes that mark the ends of chunks: the prefix inside of them.
_INSIDE: Mapping[Scheme, str] = {"BIOES": "I", "BMESO": "M"}


class Illegal(NamedTuple):
  """A tag that its scheme does not allow at its place."""

  word: int
  fault: str


def is_tag(text: str) -> bool:
  """Returns whether a text is a tag of any scheme."""
  return text == "O" or _TAG.fullmatch(text) is not None


def check_tag(tag: str, place: str, hint: str = "") -> None:
  """Raises InputError for what is no tag of any scheme; `hint` ends its message."""
  if not is_tag(tag):
    raise InputError(
      f"{place}: tag {tag!r}; expected O, or one of B- I- M- E- S- and a label{hint}"
    )


def chunks(tags: Sequence[str]) -> list[Labelled]:
  """Returns the chunks of tags of any scheme, read as conlleval reads them.

  I, M or E continues the chunk of a B, I or M of its label before it; any other tag begins one.
  """
  labelled: list[Labelled] = []
  before = "O"
  for word, tag in enumerate(tags):
    if _continues(tag, before):
      labelled[-1] = labelled[-1]._replace(end=word + 1)
    elif tag != "O":
      labelled.append(Labelled(word, word + 1, tag[2:]))
    before = tag
  return labelled


def tagged(spans: Iterable[Labelled], words: int, scheme: Scheme, place: str) -> list[str]:
  """Returns the tags of words with chunks that do not overlap; `place` is for messages."""
  tags = ["O"] * words
  for start, end, label in sorted(spans):
    if any(tag != "O" for tag in tags[start:end]):
      raise InputError(f"{place}: a span in another, {label}; expected them apart, for tags")
    prefixes = [_INSIDE.get(scheme, "I")] * (end - start)
    touches = start > 0 and tags[start - 1][2:] == label
    if scheme != "IOB1" or touches:
      prefixes[0] = "B"
    if scheme in _INSIDE:
      prefixes[-1] = "E" if end - start > 1 else "S"
    tags[start:end] = [f"{prefix}-{label}" for prefix in prefixes]
  return tags


def scheme_of(sentences: Sequence[Sequence[str]]) -> Scheme:
  """Returns the scheme in which most tags are legal."""
  counts = {
    scheme: sum(len(list(illegal(tags, scheme))) for tags in sentences) for scheme in SCHEMES
  }
  return min(SCHEMES, key=counts.__getitem__)


def illegal(tags: Sequence[str], scheme: Scheme) -> Iterator[Illegal]:
  """Yields the tags of a sentence that the scheme does not allow where they stand."""
  for word, tag in enumerate(tags):
    before = tags[word - 1] if word else "O"
    after = tags[word + 1] if word + 1 < len(tags) else "O"
    expected = _expected(tag, before, after, scheme)
    if expected:
      neighbours = f"tag {tag!r} between {before!r} and {after!r}"
      yield Illegal(word, f"{neighbours}; expected {expected}, as the file's tags are {scheme}")


def _expected(tag: str, before: str, after: str, scheme: Scheme) -> str | None:
  prefix, label = tag[0], tag[2:]
  begins = prefix != "O" and not _continues(tag, before)
  if inside := _INSIDE.get(scheme):
    if prefix in "IM" and prefix != inside:
      return f"{inside}-{label}"
    if begins and prefix in "IME":
      return f"B-{label} or S-{label}"
    if prefix in "BIM" and not _continues(after, tag):
      return f"{inside}-{label} or E-{label} after it"
    return None
  if prefix in "MES":
    return f"B-{label} or I-{label}"
  if scheme == "IOB2":
    return f"B-{label}" if begins and prefix == "I" else None
  return f"I-{label}" if prefix == "B" and before[2:] != label else None


def may_follow(tag: str, before: str, scheme: Scheme) -> bool:
  """Returns whether two tags may be neighbours; "O" stands for the two ends of a sentence too."""
  prefix, inside = tag[0], _INSIDE.get(scheme)
  if inside:
    if before[0] in ("B", inside):
      return prefix in (inside, "E") and tag[2:] == before[2:]
    return prefix in "OBS"
  if scheme == "IOB1":
    return prefix in "OI" or (prefix == "B" and tag[2:] == before[2:])
  return prefix in "OB" or _continues(tag, before)


def legal_chunks(tags: Sequence[str], scheme: Scheme) -> list[Labelled]:
  """Returns the chunks of tags whose own tags are all legal where they stand."""
  faults = {word for word, _ in illegal(tags, scheme)}
  return [x for x in chunks(tags) if faults.isdisjoint(range(x.start, x.end))]


def scheme_of_labels(labels: Iterable[str]) -> Scheme:
  """Returns the scheme of a model's tags: IOB1 if not every label has a B."""
  prefixes = {(tag[0], tag[2:]) for tag in labels if tag != "O"}
  kinds = {prefix for prefix, _ in prefixes}
  if kinds & set("MES"):
    return "BMESO" if "M" in kinds else "BIOES"
  return "IOB2" if all(("B", label) in prefixes for _, label in prefixes) else "IOB1"


def _continues(tag: str, before: str) -> bool:
  return tag[0] in "IME" and before[0] in "BIM" and tag[2:] == before[2:]
