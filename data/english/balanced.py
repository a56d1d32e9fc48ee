"""Makes `english/relations` of a run: python -m data.english.balanced RUN TARGET [FOLDER].

The run trained on more pairs without a relation than with one, so that its model says "none" too
often. Its weights for "none" are made smaller as long as at most one pair in seven of those of dev
that nobody has judged is called related. FOLDER is datasets/english unless it is given.
"""

import dataclasses
import sys
from pathlib import Path

import numpy as np

from luke_jax.convert.adapters import save_adapter
from luke_jax.convert.card import with_record
from luke_jax.convert.parts import ModelParts
from luke_jax.formats.files import Faults
from luke_jax.inference.batches import outputs, shapes_of
from luke_jax.inference.settings import processor_of, task_of
from luke_jax.runs.models import run_model
from luke_jax.tasks.running import read_examples

from .unrelated import NONE

CALLED_RELATED = 1 / 7  # most of the pairs of dev
FACTORS = np.arange(1, 0.4, -0.05)  # of the weights


def main(run: Path, target: Path, folder: Path) -> None:
  """Writes the adapter and prints the factor of its weights."""
  model, record = run_model(run)
  none = model.labels.index(NONE)
  logits = logits_of(model, folder / "relations" / "none_dev.jsonl")
  factor = factor_of(logits, none)
  kernel = np.array(model.params["classifier"]["kernel"])  # such heads have no bias
  kernel[:, none] *= factor
  params = {**model.params, "classifier": {"kernel": kernel}}
  save_adapter(with_record(dataclasses.replace(model, params=params), record), target)
  print(f"{target}: weights of {NONE} times {factor:.2f}")


def factor_of(logits: np.ndarray, none: int) -> float:
  """Returns the least factor of the logits of "none" with which few enough rows are related."""
  best = np.delete(logits, none, axis=1).max(axis=1)
  related = [(best > factor * logits[:, none]).mean() for factor in FACTORS]
  fitting = [factor for factor, x in zip(FACTORS, related, strict=True) if x <= CALLED_RELATED]
  return float(min(fitting, default=1.0))


def logits_of(model: ModelParts, path: Path) -> np.ndarray:
  """Returns the logits of a file's examples."""
  task = task_of(model)
  processor = processor_of(model, task)
  rows = task.features(processor, read_examples(task, str(path), Faults()))
  found = outputs(model, task, rows, processor.entity_vocab.pad_id, shapes_of(model.backbone))
  return np.stack(found["logits"])


if __name__ == "__main__":
  if len(sys.argv) not in (3, 4):
    sys.exit(__doc__)
  main(*map(Path, (*sys.argv[1:3], *(sys.argv[3:] or ["datasets/english"]))))
