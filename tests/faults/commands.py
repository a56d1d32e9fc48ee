"""Commands of luke-jax as processes of their own, and what their runs left."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from tests.cheap_programs import flags

TINY = Path(__file__).with_name("tiny.py")


def environment(cache: Path) -> dict[str, str]:
  """One CPU device a process, quick to compile, and a cache of programs."""
  return os.environ | {
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": flags(devices=1),
    "JAX_COMPILATION_CACHE_DIR": str(cache),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
  }


def start(cache: Path, *arguments: object, most_kib: str = "unlimited") -> subprocess.Popen:
  """Starts `luke-jax ARGUMENTS`, with a limit on the size of the files that it writes."""
  command = [sys.executable, "-m", "luke_jax", *map(str, arguments)]
  return subprocess.Popen(
    ["bash", "-c", f'ulimit -f {most_kib}; exec "$@"', "", *command],
    env=environment(cache),
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    text=True,
  )


def train(cache: Path, folder: Path, *arguments: object, **limits: str) -> subprocess.Popen:
  return start(cache, "train", TINY, "--output", folder, *arguments, **limits)


def together(cache: Path, folder: Path, count: int, *arguments: object) -> list[subprocess.Popen]:
  """The same training in each of several processes."""
  with socket.socket() as free:
    free.bind(("localhost", 0))
    port = free.getsockname()[1]
  joined = ["--coordinator", f"localhost:{port}", "--processes", count, "--process"]
  flags = [[*joined, number] if count > 1 else [] for number in range(count)]
  return [train(cache, folder, *own, *arguments) for own in flags]


def ended(process: subprocess.Popen, seconds: float = 300) -> tuple[int, str, str]:
  """Exit status, and the last lines on stdout and stderr."""
  out, err = process.communicate(timeout=seconds)
  said = [text.strip().split("\n")[-1] for text in (out, err)]
  trace = "Traceback: " if "Traceback" in err else ""
  return process.returncode, said[0], trace + said[1]


def wait_for_step(folder: Path, step: int, processes: list[subprocess.Popen]) -> None:
  """Waits until a run has logged a step."""
  for _ in range(6000):
    path = folder / "metrics.jsonl"
    if path.exists() and f'"step": {step},' in path.read_text():
      return
    for process in processes:
      assert process.poll() is None, process.communicate()
    time.sleep(0.05)
  raise AssertionError(f"{folder}: step {step} did not come")


def left(folder: Path) -> dict[str, bytes]:
  """What a run that is done left: parameters, scores of its best checkpoint, losses by step."""
  from luke_jax.training.export import read_run

  _, step, params = read_run(folder)
  from flax.traverse_util import flatten_dict

  found = {f"step {step} {k}": np.asarray(x).tobytes() for k, x in flatten_dict(params).items()}
  for line in (folder / "metrics.jsonl").read_text().splitlines():
    numbers = json.loads(line)
    for name in ("loss", "dev/word_likelihood"):
      if name in numbers:
        found[f"{name} of step {numbers['step']}"] = repr(numbers[name]).encode()
  return found


def differing_bits(one: dict[str, bytes], other: dict[str, bytes]) -> int:
  """Bits in which two runs differ; all of those that only one has."""
  bits = 0
  for name in one.keys() | other.keys():
    a, b = (np.frombuffer(x.get(name, b""), np.uint8) for x in (one, other))
    if len(a) != len(b):
      bits += 8 * max(len(a), len(b))
    else:
      bits += int(np.unpackbits(a ^ b).sum())
  return bits
