"""Scores a linker of a catalogue: python -m data.catalogues.score LINKER FILE.

FILE is wordnet.jsonl or places.jsonl, LINKER what `luke-jax linker --entities` made of its entries.
Prints the share of names that get their entry, how many without an entry are refused, and both
where the linker has to find the names and shows what it shows by itself.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

import luke_jax
from luke_jax.cli import script
from luke_jax.files import Path as LukePath
from luke_jax.tasks.linking.knowledge import Knowledge


def examples(file: Path) -> Iterator[tuple[str, int, int, str | None]]:
  """Yields each text, where its name is, and the id of its entry."""
  for line in file.read_text(encoding="utf-8").splitlines():
    value = json.loads(line)
    ((start, end, id),) = value["mentions"]
    yield value["text"], start, end, id


def main(
  linker: Annotated[str, Positional, arg(metavar="LINKER")],
  file: Annotated[str, Positional, arg(metavar="FILE")],
  /,
) -> None:
  """Prints the figures as JSON."""
  model, knowledge = luke_jax.load(linker), Knowledge(LukePath(linker) / "knowledge")
  gold = list(examples(Path(file)))
  texts, mentions = [x[0] for x in gold], [[(x[1], x[2])] for x in gold]
  given = [links[0] for links in model.predict(texts, mentions=mentions)]
  several = [len(knowledge.candidates(text[a:b]).ids) for text, a, b, _ in gold]
  named = [(link, x[3], n) for link, x, n in zip(given, gold, several, strict=True) if x[3]]
  others = [link for link, x in zip(given, gold, strict=True) if x[3] is None]
  best = [link.item or next((x.item for x in link.others), None) for link, _, _ in named]
  right = sum(link.item == id for link, id, _ in named)
  found = {
    (i, link.start, link.end): link
    for i, links in enumerate(model.predict(texts))
    for link in links
  }
  shown = [(found.get((i, x[1], x[2])), x[3]) for i, x in enumerate(gold)]
  answers = [(link.item, id) for link, id in shown if link is not None]
  figures = {
    "names": len(named),
    "by_chance": sum(1 / n for _, _, n in named) / len(named),
    "accuracy": right / len(named),
    "best_is_right": sum(x == id for x, (_, id, _) in zip(best, named, strict=True)) / len(named),
    "refused": sum(link.item is None for link in others) / max(1, len(others)),
    "shown": len(answers),
    "shown_right": sum(x == id for x, id in answers) / max(1, len(answers)),
  }
  print(json.dumps({x: round(y, 3) for x, y in figures.items()}))


if __name__ == "__main__":
  sys.exit(script(main, "python -m data.catalogues.score"))
