"""Makes an adapter between two: python -m data.english.between RUN EARLIER TARGET SHARE.

A run that goes on from an adapter, EARLIER, moves away from what that had learnt. Of each number
that changed TARGET has SHARE of the way, such as 0.85, with the run's record.
"""

import dataclasses
import sys
from pathlib import Path

import numpy as np

from luke_jax.convert.adapters import read_adapter, save_adapter
from luke_jax.convert.card import with_record
from luke_jax.convert.published import published
from luke_jax.models.keys import flatten, unflatten
from luke_jax.runs.models import run_model


def main(run: Path, earlier: Path, target: Path, share: float) -> None:
  """Writes the adapter."""
  model, record = run_model(run)
  before = flatten(read_adapter(earlier, backbone=published("english")).params)
  params = {path: between(before[path], x, share) for path, x in flatten(model.params).items()}
  model = dataclasses.replace(model, params=unflatten(params))
  save_adapter(with_record(model, record), target)


def between(first: np.ndarray, second: np.ndarray, share: float) -> np.ndarray:
  """Returns an array between two; equal ones stay as they are, to the bit."""
  if np.array_equal(first, second):
    return second
  return (np.asarray(first) * (1 - share) + np.asarray(second) * share).astype(second.dtype)


if __name__ == "__main__":
  if len(sys.argv) != 5:
    sys.exit(__doc__)
  main(*map(Path, sys.argv[1:4]), float(sys.argv[4]))
