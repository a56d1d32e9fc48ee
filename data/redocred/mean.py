"""Makes an adapter of the mean parameters of others: python -m data.redocred.mean TARGET ADAPTER...

They are those of runs that began at the same one, with other seeds.
"""

import dataclasses
import shutil
import sys
from pathlib import Path

import jax
import numpy as np

import luke_jax
from luke_jax.convert.adapters import save_adapter
from luke_jax.inference.settings import KEY


def main(target: Path, adapters: list[str]) -> None:
  """Writes the adapter, which has the config of the first; its scores are to be fitted."""
  models = [luke_jax.load(x) for x in adapters]
  params = jax.tree.map(_mean, *(x.params for x in models))
  if target.exists():
    shutil.rmtree(target)
  ours = [x.rest[KEY] for x in models]
  seeds = ", ".join(str(x["run"]["seed"]) for x in ours)
  rest = {KEY: {**ours[0], "run": {**ours[0]["run"], "seed": f"the mean of {seeds}"}}}
  save_adapter(
    dataclasses.replace(models[0], params=params, rest={**models[0].rest, **rest}), target
  )


def _mean(*arrays: jax.Array) -> np.ndarray:
  return np.mean(arrays, axis=0, dtype=np.float64).astype(arrays[0].dtype)


if __name__ == "__main__":
  main(Path(sys.argv[1]), sys.argv[2:])
