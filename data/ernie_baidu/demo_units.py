"""Adds units of entities to the demonstration file of ERNIE's authors, which has phrases only.

    python -m data.ernie_baidu.demo_units demo_train_set.gz ernie-1.0 demo_units.gz

Entities are the names of people, places and organisations that jieba's tagger finds (the extra zh),
not those of a person. All else stays as it is.
"""

import itertools
import sys
from collections.abc import Iterator

import jieba
import jieba.posseg
import numpy as np

from data.ernie_baidu.units import write_units
from luke_jax.files import Path, whole
from luke_jax.systems.ernie_baidu.units import CONTINUED, FIRST, UnitInstance, read_units
from luke_jax.text.word_piece import read_pieces

NAMES = ("nr", "ns", "nt")  # of people, places and organisations


def entity_labels(ids: np.ndarray, phrases: np.ndarray, pieces: list[str]) -> np.ndarray:
  """Returns labels by which only names are units of several words."""
  labels = np.where(phrases == CONTINUED, FIRST, phrases)
  texts = [
    pieces[id].removeprefix("##") if label >= 0 else "\n"
    for id, label in zip(ids, phrases, strict=True)
  ]
  first = np.cumsum([0, *map(len, texts)])
  owner = np.repeat(np.arange(len(texts)), np.diff(first))
  at = 0
  for word, tag in jieba.posseg.cut("".join(texts)):
    words = np.unique(owner[at : at + len(word)])
    if tag.startswith(NAMES):
      labels[words[1:]] = CONTINUED
    at += len(word)
  return labels


def instances(source: str, pieces: list[str]) -> Iterator[UnitInstance]:
  """Yields the instances of a file with both levels."""
  file = read_units(source, 1)
  for index in range(len(file)):
    instance = file.instance(index, 0)
    labels = entity_labels(instance.input_ids, instance.units[0], pieces)
    yield instance._replace(units=np.stack([instance.units[0], labels]))


def main(source: str, tokenizer: str, target: str) -> None:
  """Writes the file with both levels, and prints how many entities it has."""
  jieba.setLogLevel("WARNING")
  counted, written = itertools.tee(instances(source, read_pieces(Path(tokenizer) / "vocab.txt")))
  with whole(Path(target)) as part:
    count = write_units(part, written)
  names = sum(int(((x.units[1][1:] == 1) & (x.units[1][:-1] == 0)).sum()) for x in counted)
  print(f"{target}: {count} instances, {names} entities")


if __name__ == "__main__":
  main(*sys.argv[1:])
