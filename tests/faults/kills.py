"""Kills runs and exports at random moments; what they end with must be the same to the bit.

python -m tests.faults.kills --kills 50 --seed 0
"""

import argparse
import random
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.faults.commands import differing_bits, ended, left, start, train

COMPILED_AGAIN = 0.2  # share of the runs that are also killed while they compile


def main(kills: int, seed: int, place: Path) -> Counter[str]:
  """Kills so many times; returns how often in which phase, runs, and the bits that differed."""
  rng, counts = random.Random(seed), Counter()
  cache = place / "cache"
  compiling = seconds_of(train(cache, place / "first"))
  compiled = seconds_of(train(cache, place / "whole"))
  expected = left(place / "whole")
  model = exported(cache, place / "whole", place / "model")
  while counts["kills"] < kills:
    folder = place / f"run-{counts['runs']}"
    most = compiled / 2  # shorter than a run, so that most runs are killed more than once
    if rng.random() < COMPILED_AGAIN:
      shutil.rmtree(cache)
      most = compiling
    while counts["kills"] < kills and not killed_or_done(
      folder, cache, rng.random() * most, counts
    ):
      pass
    status, _, line = ended(train(cache, folder))
    assert status == 0, line
    counts["runs"] += 1
    counts["differing bits"] += differing_bits(left(folder), expected)
    if counts["kills"] < kills:
      kill(start(cache, "export", folder, place / "export"), rng.random() * 6, counts, "export")
    counts["differing bits"] += exported(cache, folder, place / "export") != model
    shutil.rmtree(folder)
    print(dict(counts), flush=True)
  return counts


def seconds_of(process: subprocess.Popen) -> float:
  """Waits for a run that nothing kills; returns how long it takes."""
  begun = time.monotonic()
  status, _, line = ended(process)
  assert status == 0, line
  return time.monotonic() - begun


def killed_or_done(folder: Path, cache: Path, seconds: float, counts: Counter[str]) -> bool:
  """Lets a run live for some seconds; returns whether it was done before."""
  process = train(cache, folder)
  return not kill(process, seconds, counts, lambda: phase(folder))


def kill(process: subprocess.Popen, seconds: float, counts: Counter[str], what) -> bool:
  """Kills a process after some seconds; returns False if it ended before."""
  try:
    process.wait(timeout=seconds)
  except subprocess.TimeoutExpired:
    counts[what if isinstance(what, str) else what()] += 1
    counts["kills"] += 1
    process.kill()
    process.communicate()
    return True
  _, error = process.communicate()
  assert process.returncode == 0, error
  return False


def phase(folder: Path) -> str:
  """Where a run is, by its folder: as exact as looking from outside can be."""
  if any((folder / "checkpoints").glob("*tmp*")):
    return "save"
  if not (folder / "config.json").exists():
    return "start"
  if not (folder / "metrics.jsonl").exists():
    return "compile"
  return "steps or restart"


def exported(cache: Path, folder: Path, target: Path) -> bytes:
  status, _, line = ended(start(cache, "export", folder, target))
  assert status == 0, line
  return (target / "model.safetensors").read_bytes()


if __name__ == "__main__":
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--kills", type=int, default=50)
  parser.add_argument("--seed", type=int, default=0)
  options = parser.parse_args()
  with tempfile.TemporaryDirectory(prefix="luke-jax-kills-") as folder:
    counted = main(options.kills, options.seed, Path(folder))
  raise SystemExit(counted["differing bits"] > 0)
