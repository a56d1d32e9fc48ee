"""The launch recipes, with stand-ins for the tools they call."""

import os
import subprocess
from pathlib import Path

import pytest

from luke_jax.cli import COMMANDS

LAUNCH = Path(__file__).parent.parent / "experiments" / "launch"
RECIPES = sorted(LAUNCH.glob("*.sh"))
WANTED = ("PROJECT", "ZONE", "NAME", "SHARE", "CLUSTER", "LOCATION", "IMAGE", "CLAIM")
VARIABLES = dict.fromkeys(WANTED, "mine")


@pytest.fixture
def run(tmp_path):
  """Runs a recipe in an empty folder, where other tools print what they were asked to do."""
  tools = tmp_path / ".venv-gpu" / "bin"
  tools.mkdir(parents=True)
  (tmp_path / ".venv-gpu" / "installed").touch()
  for name in ("gcloud", "docker", "gcluster", "git", "luke-jax"):
    (tools / name).write_text(f'#!/bin/sh\necho {name} "$@"\n')
    (tools / name).chmod(0o755)

  def run(recipe, *arguments, **variables):
    return subprocess.run(
      ["bash", LAUNCH / recipe, *arguments],
      env={"PATH": os.pathsep.join([str(tools), os.environ["PATH"]])} | variables,
      cwd=tmp_path,
      capture_output=True,
      text=True,
    )

  return run


@pytest.mark.parametrize("recipe", RECIPES)
def test_syntax(recipe):
  subprocess.run(["bash", "-n", recipe], check=True)


@pytest.mark.parametrize(
  ("recipe", "arguments"), [("tpu_vm.sh", ["train"]), ("gke.sh", []), ("gpu.sh", [])]
)
def test_every_host_runs_the_plain_command(recipe, arguments, run):
  more = ("--set", "run.accumulation=16")
  done = run(recipe, *arguments, "e.py", "large", *more, **VARIABLES, RUNS="/runs")
  assert not done.returncode, done.stderr
  assert "luke-jax train e.py --output /runs/large --set run.accumulation=16" in done.stdout


def test_a_slice_with_a_bucket_mounts_nothing(run):
  given = dict.fromkeys(("PROJECT", "ZONE", "NAME"), "mine") | {"BUCKET": "gs://mine"}
  done = run("tpu_vm.sh", "train", "e.py", "large", **given)
  assert not done.returncode, done.stderr
  assert "luke-jax train e.py --output gs://mine/runs/large" in done.stdout
  installed = run("tpu_vm.sh", "install", **given)
  assert not installed.returncode, installed.stderr
  assert "luke_jax[tpu,gcs,datasets]" in installed.stdout and "mount" not in installed.stdout


@pytest.mark.parametrize("action", ["create", "state", "install", "delete"])
def test_what_is_done_to_a_slice(action, run):
  done = run("tpu_vm.sh", action, **VARIABLES)
  assert not done.returncode, done.stderr
  assert "mine" in done.stdout


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_is_missing_is_said(recipe, run):
  done = run(recipe.name)
  assert done.returncode and not done.stdout
  assert ("PROJECT" if recipe.name != "gpu.sh" else "experiment file") in done.stderr


def test_what_measures_a_gpu_names_commands_and_files_that_are_here(tmp_path):
  repository = LAUNCH.parent.parent
  done = subprocess.run(
    ["bash", "benchmarks/gpu/measure.sh", tmp_path],
    env={"PATH": os.environ["PATH"], "PYTHON": "echo", "TOKENIZER": "roberta"},
    cwd=repository,
    capture_output=True,
    text=True,
    check=True,
  )
  called = [line.split() for line in done.stdout.splitlines() if line.startswith("== ")]
  commands = [words[2:] for words in called if words[2] == "echo"]
  assert len(commands) == len([words for words in called if words[2:4] == ["status", "0,"]]) > 10
  for words in commands:
    if words[1:3] == ["-m", "luke_jax"]:
      assert {words[3], " ".join(words[3:5])} & COMMANDS.keys()
    for path in (x.rpartition("=")[2] for x in words if x.endswith((".py", ".conll"))):
      assert (repository / path).is_file(), path


STAND_INS = {
  "git": 'mkdir luke_jax && ln -s "$REPOSITORY/docs" luke_jax/docs',
  "python3": "mkdir -p .venv/bin && ln -s /bin/true .venv/bin/pip",
  "luke-jax": "trap 'exit 0' TERM\necho luke-jax $*\nwhile [ $1 = serve ]; do sleep .1; done",
  "python": """case $2 in *ready*) grep serve requests.jsonl || exit; esac
[ "$1" != find_tags.py ] || cat find_tags.py""",
}


def test_the_stopwatch_calls_commands_and_a_program_that_are_here(tmp_path):
  repository = LAUNCH.parent.parent
  for name, script in STAND_INS.items():
    (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / name).chmod(0o755)
  done = subprocess.run(
    ["bash", "benchmarks/serving/stopwatch.sh", "."],
    env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "REPOSITORY": str(repository)},
    cwd=repository,
    capture_output=True,
    text=True,
    check=True,
  )
  assert len(done.stdout.splitlines()) == 9
  called = [line.split()[1] for line in done.stderr.splitlines() if line.startswith("luke-jax ")]
  assert called == ["get", "train", "serve", "export-program"] and set(called) <= COMMANDS.keys()
  assert "luke_jax.text import" in done.stderr and not list(repository.glob("find_tags.py"))
