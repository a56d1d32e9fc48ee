"""Texts with typed names to learn labels from: `python -m data.wiki_types.make TABLES`."""

import collections
import hashlib
import heapq
import itertools
import json
import sys
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from tyro.conf import Positional, arg

from data.wiki_types.names import Found, Namer
from data.wiki_types.page_types import PageTypes
from luke_jax.cli import script
from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.training.metrics import summary_line
from luke_jax.wiki.export.read import read_pages, read_sentences
from luke_jax.wiki.export.tables import ExportedSentence

HELD_OUT = 50  # one page in so many, by its title, is dev
DEV = 1500  # sentences of dev at most
OF_A_PAGE = 14  # sentences at most
TOLD = 200_000  # sentences from one line on the terminal to the next
CHARACTERS = range(40, 400)  # of a sentence
# A label is kept as often as this, and of more names the fewer, the more there are.
USUAL, FADING = 300, 0.7
SEEN, MOSTLY = 3, 0.8  # times that a name is given a type elsewhere, and share of these
LISTED = 2  # pages that list words without capitals
_TEACHING = ("series", "title", "place")  # sources by which a name is known elsewhere
_COMMON = ("date", "adjective")  # which alone are not worth a sentence


def write_typed(tables: Path, folder: Path, *, examples: int) -> dict[str, int]:
  """Writes sentences with typed names to train on and, of other pages, for dev; returns counts.

  There are at most `examples` to train on, a random part of all.
  """
  print("reading what pages are", file=sys.stderr, flush=True)
  types = PageTypes(read_pages(tables, text=False))
  if not types.labels:
    raise InputError(f"{tables}: no page with a type; expected tables of English pages")
  namer = Namer(types, known(Namer(types), _told(tables, "names with types")))
  chosen = _Chosen(namer)
  kept: dict[str, list[tuple[float, str]]] = {"train": [], "dev": []}  # heaps, the last one first
  for title, sentence, found in chosen.of(_told(tables, "sentences to learn from")):
    split = "dev" if _place(f"page {title}") < 1 / HELD_OUT else "train"
    line = json.dumps(_example(sentence, found), ensure_ascii=False)
    entry = -_place(f"order {sentence.text}"), line
    full = len(kept[split]) == (examples if split == "train" else min(DEV, examples))
    (heapq.heappushpop if full else heapq.heappush)(kept[split], entry)
  folder.mkdir(parents=True, exist_ok=True)
  for split, lines in kept.items():
    with whole(folder / f"{split}.jsonl") as part, part.open("w", encoding="utf-8") as file:
      file.writelines(f"{line}\n" for _, line in sorted(lines, reverse=True))
  return {split: len(lines) for split, lines in kept.items()} | {"labels": len(chosen.counts)}


def _told(tables: Path, sought: str) -> Iterator[ExportedSentence]:
  """Yields the sentences of tables, and says on stderr how many there were."""
  for number, sentence in enumerate(read_sentences(tables)):
    if number % TOLD == 0:
      print(f"looking for {sought}: {number:,} sentences read", file=sys.stderr, flush=True)
    yield sentence


def known(namer: Namer, sentences: Iterable[ExportedSentence]) -> dict[str, tuple[str, ...]]:
  """Returns names that sentences give a type more than once, and nearly always the same.

  Other words that are listed have no types there: they may have any, as has a word that is one.
  """
  given: dict[str, collections.Counter[tuple[str, ...]]] = collections.defaultdict(
    collections.Counter
  )
  for _, of_page in itertools.groupby(sentences, lambda x: x.title):
    listed = set()  # on this page, whose sentences may be all alike
    for sentence in of_page:
      if len(sentence.text) not in CHARACTERS:
        continue
      for found in namer.names_in(sentence).typed:
        name = sentence.text[found.start : found.end]
        if found.source == "list":
          listed.add((name, found.labels))
        elif found.source in _TEACHING:
          given[name][found.labels] += 1
    for name, labels in listed:
      given[name][labels] += 1
  kept: dict[str, tuple[str, ...]] = {}
  for name, counts in given.items():
    labels, count = counts.most_common(1)[0]
    sure = count >= (LISTED if name.islower() else SEEN) and count >= MOSTLY * counts.total()
    if sure and name not in namer.types.heads:
      kept[name] = labels
    elif name.islower():
      kept[name] = ()
  return kept


class _Chosen:
  """The sentences that are worth learning from, in the order of the pages."""

  def __init__(self, namer: Namer):
    self.namer = namer
    self.counts: collections.Counter[str] = collections.Counter()

  def of(
    self, sentences: Iterable[ExportedSentence]
  ) -> Iterator[tuple[str, ExportedSentence, Found]]:
    """Yields sentences with names of types that there are not many of already."""
    for title, group in itertools.groupby(sentences, lambda x: x.title):
      usable = [x for x in group if len(x.text) in CHARACTERS]
      usable.sort(key=lambda x: _place(x.text))
      kept = 0
      for sentence in usable:
        found = self.namer.names_in(sentence)
        if kept < OF_A_PAGE and self._is_worth(sentence, found):
          kept += 1
          yield title, sentence, found

  def _is_worth(self, sentence: ExportedSentence, found: Found) -> bool:
    firsts = [x.labels[0] for x in found.typed if x.source not in _COMMON]
    if not firsts:
      return False
    rarest = min(self.counts[label] for label in firsts)
    if _place(f"share {sentence.text}") > (USUAL / (rarest + 1)) ** FADING:
      return False
    self.counts.update(firsts)
    return True


def _example(sentence: ExportedSentence, found: Found) -> dict[str, Any]:
  spans = [[x.start, x.end, *x.labels] for x in found.typed]
  return {"text": sentence.text, "spans": spans, "unknown": [list(x) for x in found.unknown]}


def _place(text: str) -> float:
  """Returns a number from 0 to 1 by the hash of a text."""
  return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") / 2**64


def main(
  tables: Annotated[Path, Positional, arg(metavar="TABLES")],
  /,
  *,
  output: Path,
  examples: int = 150_000,
) -> None:
  """Makes sentences with typed names out of a wiki's tables, to learn labels from.

  Types are what pages say that they are, and English words in and around names: Labour Party, the
  guitarist Jimi Hendrix, countries such as Chad, instruments such as flutes. Of other names nobody
  knows the type. The pages of dev are others than those of train.

      python -m data.wiki_types.make tables --output typed
      luke-jax train labels --train typed/train.jsonl --dev typed/dev.jsonl --model english \\
        --output runs/labels

  Args:
    tables: Folder that `luke-jax wiki export` made, of English pages.
    output: Folder for train.jsonl and dev.jsonl.
    examples: Sentences to train on at most, a random part of all.
  """
  if examples < 1:
    raise InputError(f"--examples: {examples}; expected a whole number from 1")
  print(summary_line({**write_typed(tables, output, examples=examples), "output": str(output)}))


if __name__ == "__main__":
  sys.exit(script(main, "python -m data.wiki_types.make"))
