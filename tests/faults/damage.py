"""Damages every file of a run's newest checkpoint in four ways; no wrong value may be read.

python -m tests.faults.damage
"""

import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.faults.commands import ended, train


def flip(path: Path) -> None:
  """Turns a bit in the middle round."""
  data = bytearray(path.read_bytes())
  data[len(data) // 2] ^= 1
  path.write_bytes(data)


def cut(path: Path) -> None:
  path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


HARMS: dict[str, Callable[[Path], object]] = {
  "a flipped bit": flip,
  "cut short": cut,
  "empty": lambda path: path.write_bytes(b""),
  "missing": lambda path: path.unlink(),
}


def main(place: Path) -> Counter[str]:
  """Damages and restores; returns how often what came of it."""
  status, _, line = ended(train(place / "cache", place / "run"))
  assert status == 0, line
  folder, counts = place / "run" / "checkpoints", Counter()
  expected = {step: restored(folder, step) for step in (25, 30)}
  for file in sorted(path for path in (folder / "30").rglob("*") if path.is_file()):
    for name, harm in HARMS.items():
      copy = place / "copy"
      shutil.rmtree(copy, ignore_errors=True)
      shutil.copytree(folder, copy)
      if file.stat().st_size or name == "missing":
        harm(copy / file.relative_to(folder))
        result = outcome(copy, expected)
        counts[result] += 1
        print(f"{file.relative_to(folder)}, {name}: {result}", flush=True)
  return counts


def outcome(folder: Path, expected: dict[int, dict]) -> str:
  with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    step, found = opened(folder)
  if found != expected[step]:
    return "WRONG VALUES"
  return "unharmed" if step == 30 else "set aside"


def opened(folder: Path) -> tuple[int, dict]:
  """Step and arrays of the newest intact checkpoint."""
  import jax

  from luke_jax.training import integrity
  from luke_jax.training.checkpoints import Checkpoints
  from luke_jax.training.mesh import make_mesh
  from luke_jax.training.program import Program
  from tests.faults.tiny import config

  experiment = config()
  program = Program(experiment, make_mesh(experiment.mesh, jax.devices()[:1]), steps=30)
  checkpoints = Checkpoints(folder, experiment.run)
  try:
    found = checkpoints.restore(program.state_shapes)
  finally:
    checkpoints.close()
  assert found is not None
  step, state = found
  key = jax.random.key_data(state["key"])
  arrays = jax.tree.leaves(jax.device_get({**state, "key": key}))
  return step, {"sums": integrity.sums(state, 2), "bytes": [x.tobytes() for x in arrays]}


def restored(folder: Path, step: int) -> dict:
  """Arrays of one checkpoint, from a folder that has no other."""
  with tempfile.TemporaryDirectory() as alone:
    shutil.copytree(folder / str(step), Path(alone) / str(step))
    return opened(Path(alone))[1]


if __name__ == "__main__":
  with tempfile.TemporaryDirectory(prefix="luke-jax-damage-") as temporary:
    counted = main(Path(temporary))
  print(dict(counted))
  raise SystemExit(counted["WRONG VALUES"] > 0)
