"""Writes texts whose end asks what their beginning says: python -m data.namesakes.far FOLDER.

Each text says of a name what bears it, then much of other names and what bears them, and then names
it again without saying it. What bears a name is drawn anew for every text, so that only the text
tells. In dev and test the clue is as far as the texts are long, in training anywhere before.
"""

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from luke_jax.cli import script

from .world import COUNTRIES, COUNTRY, KINDS, PLAIN, SEED, names

TEXTS = {"train": 3000, "dev": 100, "test": 400}
OTHERS = 0.3  # share of the sentences between that say what bears another name


def text(every: list[str], words: int, rng: random.Random) -> dict[str, Any]:
  """Returns an example of entity typing with so many words between the clue and the name."""
  name, *others = rng.sample(every, len(every))
  kinds = {other: rng.choice(list(KINDS)) for other in others}
  kind = rng.choice(list(KINDS))
  sentences, count = [rng.choice(PLAIN).format(name, kind)], 0
  while count < words:
    other = rng.choice(others)
    told = rng.random() < OTHERS
    form = rng.choice(PLAIN if told else COUNTRY)
    sentences.append(form.format(other, kinds[other] if told else rng.choice(COUNTRIES)))
    count += len(sentences[-1].split())
  before = " ".join(sentences) + " "
  last = rng.choice(COUNTRY).format(name, rng.choice(COUNTRIES))
  start = len(before) + last.index(name)
  return {"text": before + last, "span": [start, start + len(name)], "labels": [kind]}


def texts(split: str, words: int, rng: random.Random) -> Iterator[dict[str, Any]]:
  """Yields the examples of a split."""
  every = names(random.Random(SEED))
  for _ in range(TEXTS[split]):
    yield text(every, rng.randrange(words) if split == "train" else words, rng)


def main(folder: Annotated[Path, Positional, arg(metavar="FOLDER")], /, *, words: int) -> None:
  """Writes train.jsonl, dev.jsonl and test.jsonl, always the same bytes.

  Args:
    folder: Where to write them.
    words: Words between the clue and the name that is asked for.
  """
  folder.mkdir(parents=True, exist_ok=True)
  rng = random.Random(SEED)
  for split in TEXTS:
    lines = (json.dumps(x) + "\n" for x in texts(split, words, rng))
    (folder / f"{split}.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
  sys.exit(script(main, "python -m data.namesakes.far"))
