"""Relations given by their words: python -m data.redocred.typed make|score [MODEL] [FOLDER].

`make` writes FOLDER/held_out, the training files without twenty kinds of relations and those that
turn them round, for the row facts-held-out of experiments/english.py. `score` prints how well the
MODEL of that finds these kinds in the test documents by their names alone. FOLDER is
datasets/redocred unless it is given.
"""

import collections
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from luke_jax import files
from luke_jax.convert.reading import read as read_model
from luke_jax.formats.files import Faults
from luke_jax.inference.predicting import predictions
from luke_jax.inference.settings import task_of
from luke_jax.inference.text_vectors import with_labels
from luke_jax.runs.models import model_directory
from luke_jax.tasks.facts.files import FactsExample, Holds, read, to_json

from .phrases import beside
from .score import LEAST, counted, figures

KINDS, FIRST = 20, 2  # that are held out, as far apart as may be by how often they hold
PARTS = ("train", "train_sentences", "train_denied", "train_phrases", "train_fewrel")
PARTS += ("dev", "dev_sentences", "dev_denied", "dev_phrases")


def held_out(train: Sequence[FactsExample]) -> list[str]:
  """Returns the kinds that are held out: by how often they hold in training, one in so many."""
  counts = collections.Counter(fact.label for x in train for fact in x.facts or ())
  order = [label for label, _ in counts.most_common()]
  return [order[number * len(order) // KINDS + FIRST] for number in range(KINDS)]


def make(folder: Path) -> None:
  """Writes the files without the kinds that are held out."""
  train = _read(folder, "train")
  others = beside(train)
  kinds = held_out(train)
  turned = {x for kind in kinds for x, is_turned in others[kind].holds if is_turned}
  for label, (holds, _) in others.items():
    turned |= {label for kind, is_turned in holds if is_turned and kind in kinds}
  only_dev = {x.label for d in _read(folder, "dev") for x in d.facts or ()} - others.keys()
  kinds += sorted((turned | only_dev) - set(kinds))
  (folder / "held_out").mkdir(exist_ok=True)
  for part in PARTS:
    lines = [json.dumps(to_json(_without(x, kinds))) + "\n" for x in _read(folder, part)]
    (folder / "held_out" / f"{part}.jsonl").write_text("".join(lines), encoding="utf-8")
  print("; ".join(kinds))


def _read(folder: Path, part: str) -> list[FactsExample]:
  return read(files.Path(folder / f"{part}.jsonl"), Faults())


def _without(example: FactsExample, kinds: Sequence[str]) -> FactsExample:
  """Returns an example without kinds; of pairs that have one nothing is said."""
  facts, unknown = (
    tuple(x for x in of if x.label not in kinds) for of in (example.facts or (), example.unknown)
  )
  hidden = {
    Holds(x.head, x.tail) for x in (*(example.facts or ()), *example.unknown) if x.label in kinds
  }
  told = {(x.head, x.tail) for x in facts}
  unknown += tuple(sorted(x for x in hidden if x[:2] not in told))
  return dataclasses.replace(example, facts=facts, unknown=tuple(dict.fromkeys(unknown)))


def score(model: str, folder: Path) -> None:
  """Prints figures of the kinds that were held out, all asked for together, and of each."""
  kinds = held_out(_read(folder, "train"))
  asked = with_labels(read_model(model_directory(files.Path(model))), kinds)
  documents = [
    dataclasses.replace(x, facts=tuple(f for f in x.facts or () if f.label in kinds))
    for x in _read(folder, "test")
  ]
  answers = []
  for example, facts in predictions(asked, task_of(asked).with_threshold(LEAST), documents):
    answers.append(counted(example, facts))
  print(json.dumps(figures(documents, answers, 0.5)))
  for kind in kinds:
    of_kind = [[x for x in of if x.fact.label == kind] for of in answers]
    wanted = [
      dataclasses.replace(x, facts=tuple(f for f in x.facts or () if f.label == kind))
      for x in documents
    ]
    of = figures(wanted, of_kind, 0.5)
    print(f"{kind:40} {sum(len(x.facts) for x in wanted):5} {of['f1']:.3f} {of['f1_inside']:.3f}")


if __name__ == "__main__":
  what, *given = sys.argv[1:]
  if what == "make":
    make(Path((given or ["datasets/redocred"])[0]))
  else:
    score(given[0], Path((given[1:] or ["datasets/redocred"])[0]))
