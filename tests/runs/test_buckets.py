"""Commands on a bucket alone, from files and a model there to predictions there, as on a disk."""

import json
import os
import subprocess
import sys
import time

import pytest
from sample_models import sample_file, save_start

import luke_jax
from luke_jax.cli import main
from luke_jax.files import Path, sizes

pytestmark = pytest.mark.slow
SHORT = ("run.epochs=null", "run.steps=6", "run.evaluate_every=null", "data.batch_size=4")
SHORT += ("run.save_every=2", "run.log_every=1", "data.workers=0")


@pytest.fixture
def command(tmp_path, cloud_storage):
  """Starts `luke-jax` on one device in a process of its own."""
  flags = os.environ["XLA_FLAGS"].replace("device_count=8", "device_count=1")
  cache = {"LUKE_JAX_CACHE": str(tmp_path / "cache")}
  environment = os.environ | cache | {"PYTHONPATH": os.pathsep.join(sys.path), "XLA_FLAGS": flags}

  def start(*words):
    given = [sys.executable, "-m", "luke_jax", *map(str, words)]
    return subprocess.Popen(given, env=environment, stderr=subprocess.PIPE, text=True)

  return start


def run(*words):
  assert main([str(word) for word in words]) == 0


def words(folder):
  """What trains in a folder: its own model on its own files."""
  files = ["--train", folder / "train.jsonl", "--dev", folder / "dev.jsonl"]
  changes = [word for text in SHORT for word in ("--set", text)]
  return [
    "train",
    "typing",
    *files,
    "--model",
    folder / "start",
    "--output",
    folder / "r",
    *changes,
  ]


def test_training_killed_and_resumed_exported_loaded_and_used(
  bucket, command, tmp_path, monkeypatch, one_device
):
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "cache"))
  save_start(tmp_path / "start")
  lines = sample_file("typing", "train").read_text(encoding="utf-8").splitlines(keepends=True)
  for split in ("train", "dev", "test"):
    (tmp_path / f"{split}.jsonl").write_text("".join(lines[:24]), encoding="utf-8")
  for name in sizes(tmp_path):
    (bucket / name).write_bytes((tmp_path / name).read_bytes())
  run(*words(tmp_path))

  process = command(*words(bucket))
  while not (bucket / "r/checkpoints/2/commit_success.txt").exists():
    assert process.poll() is None, process.communicate()
    time.sleep(0.1)
  process.kill()
  process.communicate()
  assert not (bucket / "r/model").exists()
  run(*words(bucket))
  for folder in (tmp_path, bucket):
    run("export", folder / "r", folder / "exported")
    output = ("--output", folder / "p.jsonl")
    run("predict", "typing", folder / "exported", folder / "test.jsonl", *output)

  here, there = luke_jax.load(tmp_path / "exported"), luke_jax.load(bucket / "exported")
  assert here.labels == there.labels
  for model in ("exported", "r/model"):
    for name in ("config.json", "model.safetensors", "vocab.json", "tokenizer_config.json"):
      one, other = ((folder / model / name).read_bytes() for folder in (tmp_path, bucket))
      if name == "config.json":  # it has the time when the run ended
        one, other = (
          {k: v for k, v in json.loads(x).items() if k != "luke_jax"} for x in (one, other)
        )
      assert one == other, name
  assert (tmp_path / "p.jsonl").read_bytes() == (bucket / "p.jsonl").read_bytes()


def test_a_fault_is_one_line(bucket, capsys):
  for words, expected in (
    (("export", bucket / "none", bucket / "x"), "not the folder of a run"),
    (("train", bucket / "none.py", "--output", bucket / "x"), "no such file"),
    (("train", "typing", "--output", "s3://a/b"), "expected a folder, or gs://BUCKET/FOLDER"),
  ):
    assert main([str(word) for word in words]) == 2
    errors = capsys.readouterr().err
    assert len(errors.splitlines()) == 1 and expected in errors
  assert not Path(bucket / "x").exists()
