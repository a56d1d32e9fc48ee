"""A run's memory stays what it is once the run is under way."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# Trains 200 steps and prints, wherever the loop writes metrics down, the step, the process's memory
# in bytes, the objects that Python holds beside those of the first ten steps, and JAX's arrays.
PROGRAM = """
import gc, json, os, sys
from pathlib import Path

import jax
from tiny_runs import experiment

from luke_jax.training import loop

write = loop.MetricsWriter.write
page = os.sysconf("SC_PAGE_SIZE")


def write_and_look(self, step, numbers):
  write(self, step, numbers)
  gc.collect()
  if step == 10:
    gc.freeze()
  resident = int(Path("/proc/self/statm").read_text().split()[1]) * page
  arrays = jax.live_arrays()
  objects = len(gc.get_objects())
  print(json.dumps([step, resident, objects, len(arrays), sum(x.nbytes for x in arrays)]))


loop.MetricsWriter.write = write_and_look
loop.train(experiment(run={"steps": 200, "log_every": 10, "save_every": 1000}), Path(sys.argv[1]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's /proc")
def test_memory_is_constant_after_the_first_steps(tmp_path):
  flags = os.environ["XLA_FLAGS"].replace("device_count=8", "device_count=1")
  # The C library keeps freed blocks for itself, more of them the longer a program runs, unless
  # they are large by this measure; and it does so once a thread.
  allocator = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "2"}
  done = subprocess.run(
    [sys.executable, "-c", PROGRAM, str(tmp_path / "run")],
    env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "XLA_FLAGS": flags} | allocator,
    capture_output=True,
    text=True,
  )
  assert not done.returncode, done.stderr
  looks = [json.loads(line) for line in done.stdout.splitlines()]
  # The last look is after the loop, when evaluation has brought things of its own.
  steps, resident, objects, arrays, array_bytes = zip(*looks[1:19], strict=True)
  assert steps == tuple(range(20, 200, 10))
  assert len(set(arrays)) == len(set(array_bytes)) == 1
  # A thread or a first warning may bring something once; what leaks grows again and again.
  grown = [after - before for before, after in itertools.pairwise(objects)]
  assert sum(grown) - max(grown) < 50  # in 170 steps that made thousands each
  # A step holds some megabytes while it runs, which it may or may not at the moment of looking.
  assert min(resident[-5:]) - min(resident[:5]) < 12 * 2**20
