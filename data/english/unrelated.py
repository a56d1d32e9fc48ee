"""Adds pairs of names that are related in none of the known ways to the relations.

    python -m data.english.unrelated WIKITEXT [FOLDER]

Reads relations/ and ner/ of FOLDER, datasets/english unless it is given, and WIKITEXT, an .xml.xz
of articles as an extractor writes them. Writes relations/none_train.jsonl, none_dev.jsonl and
none_test.jsonl: pairs that nobody has judged, so some are related all the same. `all_*.jsonl` have
them after the relations. Ten minutes of one CPU core.
"""

import itertools
import json
import lzma
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import luke_jax
from luke_jax.model import Model
from luke_jax.tasks.ner.documents import sentences_of

from .texts import digest, held_out

NONE = "no_relation"
# What the other direction of a pair is: the same, or perhaps another one of the sixteen.
BOTH_WAYS = {"spouse", "child", "mother"}
SENTENCES = 4000  # of Wikipedia
SHORTEST, LONGEST = 60, 300  # characters of them
APART = 160  # most characters of two names and of what is between them

Span = list[int]


def main(wikitext: Path, folder: Path) -> None:
  """Writes the pairs of all splits and prints how many there are."""
  model, relations = luke_jax.load("english/ner"), folder / "relations"
  others = _named(folder / "ner" / "train.jsonl")
  others += list(zip(texts := _sentences(wikitext), _names(model, texts), strict=True))
  sources = {"train": others, "dev": [], "test": _named(folder / "ner" / "test_crossner.jsonl")}
  for split, sentences in sources.items():
    known = _read(relations / f"{split}.jsonl")
    found = [*_beside(known, _names(model, [x["text"] for x in known])), *_of_two(sentences)]
    _write(relations / f"none_{split}.jsonl", found)
    _write(relations / f"all_{split}.jsonl", [*known, *found])


def _beside(known: Sequence[dict], names: Iterable[list[Span]]) -> Iterator[dict]:
  """Yields half the relations in the other direction, and a pair with another name."""
  for example, spans in zip(known, names, strict=True):
    text, head, tail = (example[name] for name in ("text", "head", "tail"))
    if example["label"] not in BOTH_WAYS and held_out(text, 2):
      yield _unrelated(text, tail, head)
    apart = [x for x in spans if not _overlap(x, head) and not _overlap(x, tail)]
    pairs = [pair for x in apart for end in (head, tail) for pair in ((x, end), (end, x))]
    yield from (_unrelated(text, *pair) for pair in _one(text, pairs))


def _of_two(sentences: Iterable[tuple[str, list[Span]]]) -> Iterator[dict]:
  """Yields a pair of two names of each sentence."""
  for text, spans in sentences:
    pairs = [x for x in itertools.permutations(spans, 2) if not _overlap(*x)]
    yield from (_unrelated(text, *pair) for pair in _one(text, pairs))


def _unrelated(text: str, head: Span, tail: Span) -> dict:
  return {"text": text, "head": head, "tail": tail, "label": NONE}


def _overlap(one: Span, other: Span) -> bool:
  return one[0] < other[1] and other[0] < one[1]


def _one(text: str, pairs: Sequence[tuple[Span, Span]]) -> list[tuple[Span, Span]]:
  """Returns one of the pairs that a window holds, by the text's hash; none of none."""
  near = [x for x in pairs if max(x[0][1], x[1][1]) - min(x[0][0], x[1][0]) <= APART]
  return random.Random(digest(text)).sample(near, min(1, len(near)))


def _named(path: Path) -> list[tuple[str, list[Span]]]:
  return [(x["text"], [span[:2] for span in x["spans"]]) for x in _read(path)]


def _names(model: Model, texts: Sequence[str]) -> list[list[Span]]:
  return [[[name.start, name.end] for name in names] for names in model.predict(list(texts))]


def _sentences(path: Path) -> list[str]:
  """Returns a sentence of each of the first paragraphs of a file of extracted articles."""
  found: list[str] = []
  with lzma.open(path, "rt", encoding="utf-8") as file:
    for line in file:
      paragraph = line.strip()
      if len(paragraph) < LONGEST or paragraph.startswith("<") or len(found) == SENTENCES:
        continue
      cut = [paragraph[start:end] for start, end in sentences_of(paragraph, "en")]
      fitting = [x for x in cut if SHORTEST <= len(x) <= LONGEST]
      found += random.Random(digest(paragraph)).sample(fitting, min(1, len(fitting)))
  return found


def _read(path: Path) -> list[dict]:
  return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _write(path: Path, examples: Iterable[dict]) -> None:
  lines = [json.dumps(x, ensure_ascii=False) + "\n" for x in examples]
  path.write_text("".join(lines), encoding="utf-8")
  print(f"{path}: {len(lines):,}", flush=True)


if __name__ == "__main__":
  if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
  main(Path(sys.argv[1]), Path((sys.argv[2:] or ["datasets/english"])[0]))
