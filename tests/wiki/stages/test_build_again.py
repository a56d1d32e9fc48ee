"""A build goes on where it was killed, does nothing twice, and is the same whoever makes it."""

import dataclasses
import fcntl
import itertools
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from wiki_builds import contents, made

from luke_jax.errors import InputError
from luke_jax.wiki.stages.build import STAGES, build
from luke_jax.wiki.stages.engines import beam
from luke_jax.wiki.stages.packing import RecordLimits
from luke_jax.wiki.stages.vocabulary_stage import Selection


def modified(folder):
  return {name: (folder / name / "manifest.json").stat().st_mtime_ns for name in STAGES}


@pytest.mark.parametrize("workers", [2, pytest.param(7, marks=pytest.mark.slow)])
def test_any_number_of_workers_makes_the_same_bytes(workers, built, settings, tmp_path):
  made(settings, tmp_path, workers)
  assert contents(tmp_path) == contents(built.folder)


@pytest.mark.parametrize(
  ("change", "anew"),
  [
    ({}, ()),
    pytest.param({"seed": 1}, STAGES[5:], marks=pytest.mark.slow),
    pytest.param({"limits": RecordLimits(max_words=100)}, STAGES[4:], marks=pytest.mark.slow),
    ({"selection": Selection(50)}, STAGES[3:]),
    ({"sections": True}, STAGES),
  ],
)
def test_a_change_rebuilds_what_depends_on_it(change, anew, built, settings, tmp_path):
  made(settings, tmp_path)
  before = modified(tmp_path)
  changed = dataclasses.replace(settings, **change)
  result = made(changed, tmp_path)
  after = modified(tmp_path)
  assert tuple(name for name in STAGES if before[name] != after[name]) == anew
  assert tuple(name for name in STAGES if result.stages[name].fresh) == anew
  made(changed, tmp_path / "fresh")
  fresh = contents(tmp_path / "fresh")
  assert {name: data for name, data in contents(tmp_path).items() if name in fresh} == fresh


def test_another_dump_is_told_by_its_content(settings, small_dump, tmp_path):
  copy = tmp_path / "copy.xml"
  copy.write_bytes(small_dump.read_bytes())
  chosen = dataclasses.replace(settings, dumps=(copy,))
  made(chosen, tmp_path / "out")
  os.utime(copy, (1, 1))
  assert not any(done.fresh for done in made(chosen, tmp_path / "out").stages.values())
  copy.write_bytes(small_dump.read_bytes().replace(b"painted", b"red", 1))
  assert all(done.fresh for done in made(chosen, tmp_path / "out").stages.values())


def test_two_builds_at_once_are_refused(settings, tmp_path):
  with (tmp_path / ".lock").open("w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    with pytest.raises(InputError, match="another command is at work here"):
      made(settings, tmp_path)


BUILD = """
import functools, signal, sys, time
from pathlib import Path
from luke_jax.wiki.stages.build import build
from luke_jax.wiki.stages.sources import Settings
from luke_jax.wiki.stages.engines import local
from luke_jax.wiki.stages.vocabulary_stage import Selection
def after(pause, run, shard):
  time.sleep(pause)
  run(shard)
if __name__ == "__main__":
  signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
  dump, tokenizer, output, workers, pause = sys.argv[1:]
  settings = Settings(
    (Path(dump),), Path(tokenizer), selection=Selection(60), part_size=8192, records_per_file=100
  )
  with local(int(workers)) as engine:
    slow = functools.partial(after, float(pause))
    build(settings, Path(output), lambda run, shards: engine(functools.partial(slow, run), shards))
"""


def made_so_far(output):
  """How many files and folders the stages have; what vanishes meanwhile does no harm."""
  below = (found for found in os.walk(output) if found[0] != str(output))
  return sum(len(folders) + len(files) for _, folders, files in below)


def killed_and_run_again(settings, output, script, moments):
  """Runs a build, killing it when it has made so many files; then to the end. How often it died."""
  script.write_text(BUILD)
  environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
  killed = 0
  for moment, workers in zip([*moments, None], itertools.cycle((1, 2)), strict=False):
    arguments = [settings.dumps[0], settings.tokenizer, output, workers, 0]
    command = [sys.executable, str(script), *map(str, arguments)]
    child = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    while moment and child.poll() is None and made_so_far(output) < moment:
      time.sleep(0.001)
    if moment and child.poll() is None:
      child.kill()
      killed += 1
    _, error = child.communicate()
    assert child.returncode in (0, -9), error
    time.sleep(0.1)  # workers die a moment after their parent
  assert child.returncode == 0
  return killed


def test_a_killed_build_goes_on(settings, built, tmp_path):
  made(settings, built.folder)
  assert killed_and_run_again(settings, tmp_path / "out", tmp_path / "b.py", (20, 75, 135)) == 3
  assert contents(tmp_path / "out") == contents(built.folder)


def interrupted(settings, output, script):
  """What a build says that hears Ctrl-C when it has made some files; it takes its time for it."""
  command = [sys.executable, script, settings.dumps[0], settings.tokenizer, output, 3, 0.2]
  environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
  child = subprocess.Popen(
    list(map(str, command)), env=environment, stderr=subprocess.PIPE, text=True, process_group=0
  )
  while made_so_far(output) < 15:
    assert child.poll() is None
    time.sleep(0.01)
  os.killpg(child.pid, signal.SIGINT)  # as a terminal does: every process hears it
  return child.communicate(timeout=60)[1]


def test_ctrl_c_ends_all_of_a_build_at_once(settings, tmp_path):
  script = tmp_path / "b.py"
  script.write_text(BUILD)
  told = interrupted(settings, tmp_path / "out", script)
  assert told.count("Traceback") == 1 and told.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_build_killed_at_random_moments(seed, settings, built, tmp_path):
  made(settings, built.folder)
  moments = sorted(random.Random(seed).sample(range(1, 150), 8))
  assert killed_and_run_again(settings, tmp_path / "out", tmp_path / "b.py", moments) > 4
  assert contents(tmp_path / "out") == contents(built.folder)


@pytest.mark.slow
def test_beam_makes_the_same_bytes(settings, built, tmp_path):
  pytest.importorskip("apache_beam", reason="needs the extra `beam`")
  made(settings, built.folder)
  with beam([]) as engine:
    build(settings, tmp_path, engine)
  assert contents(tmp_path) == contents(built.folder)
