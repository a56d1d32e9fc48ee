"""Words in columns or lists as texts with spans, as lines of JSON have them."""

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Tagged:
  """A sentence, and its entities by the numbers of their first word and the one after the last."""

  words: Sequence[str]
  spans: Sequence[tuple[int, int, str]]


def read_columns(path: Path, word: int = 0, tag: int = 1) -> Iterator[Tagged]:
  """Yields the sentences of a file of columns with BIO tags; lines that begin with # have none."""
  rows: list[tuple[str, str]] = []
  for line in [*path.read_text(encoding="utf-8").splitlines(), ""]:
    columns = line.split("\t")
    if len(columns) > max(word, tag) and columns[word].strip():
      rows.append((columns[word], columns[tag].strip()))
    elif rows:
      yield Tagged([word for word, _ in rows], list(_spans([tag for _, tag in rows])))
      rows = []


def _spans(tags: Sequence[str]) -> Iterator[tuple[int, int, str]]:
  first, kind = 0, ""
  for i, tag in enumerate([*tags, "O"]):
    if kind and tag != f"I-{kind}":
      yield first, i, kind
      kind = ""
    if not kind and tag[:2] in ("B-", "I-"):
      first, kind = i, tag[2:]


def text_of(words: Sequence[str]) -> tuple[str, list[int]]:
  """Returns words as a text, and the first character of each."""
  starts, length = [], 0
  for word in words:
    starts.append(length)
    length += len(word) + 1
  return " ".join(words), starts


def span_of(words: Sequence[str], starts: Sequence[int], first: int, end: int) -> list[int]:
  """Returns the characters of some words, [first, after the last]."""
  return [starts[first], starts[end - 1] + len(words[end - 1])]


def held_out(text: str, share: int) -> bool:
  """Returns true for one text in `share`, by its hash: the same ones on every machine."""
  return int(digest(text)[:8], 16) % share == 0


def digest(text: str) -> str:
  """Returns the SHA-256 of a text."""
  return hashlib.sha256(text.encode()).hexdigest()
