"""Writes what a version leaves behind, for later ones to read: make_release.py ARCHIVE.

It runs in a checkout of that version, whose tests have the tiny models:

    cd CHECKOUT
    PYTHONPATH=.:tests python …/tests/goldens/make_release.py …/tests/goldens/0.1.0.tar.xz

The archive has a model of each system and of each task, an adapter, programs, a run that was
stopped half-way and what became of it, a wiki build with its tables, and a linker with its
knowledge; and beside each what that version made of it. tests/test_older_files.py reads it. A list
of the names that people depend on is written beside it, for tests/test_public_names.py.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import small_systems
from networks import network
from public_names import public_names
from sample_models import sample_file, save_roberta, save_start

import luke_jax
from luke_jax.model import Model
from luke_jax.models.network import example_inputs, initial_params

SEED = 3
OF_LUKE = ("typing", "relations", "ner", "cloze", "qa")
OF_WORDS = ("classification", "tagging", "facts")
STEPS = "run.steps={} run.epochs=null data.batch_size=4 run.evaluate_every=null"
DUMP = Path("data/sample_wiki/samplewiki-pages-articles-multistream.xml.bz2").resolve()
ITEMS = Path("data/sample_wiki/wikidata-sample.json.bz2").resolve()
WORDS = Path("data/sample_wiki/tokenizer").resolve()


def sets(assignments: str) -> list[str]:
  """Returns the options that set fields of an experiment."""
  return [x for y in assignments.split() for x in ("--set", y)]


SHORT = sets(STEPS.format(3))
LONGER = sets(f"{STEPS.format(200)} optimizer.learning_rate=0.02")  # so that it answers


def untouched(start: str) -> list[str]:
  """Returns an option that leaves the start's tables alone, so that the archive packs one."""
  return sets(f"optimizer.frozen={start}/embeddings")


def main(archive: Path) -> None:
  """Writes all folders, and puts them into the archive."""
  with tempfile.TemporaryDirectory() as place:
    os.environ["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, sys.path[1:3]))
    files = {task: lines_of(task) for task in (*OF_LUKE, *OF_WORDS)}
    os.chdir(place)
    systems(Path("systems"))
    save_start(Path("luke"))
    save_roberta(Path("roberta"))
    for task, (train, dev) in files.items():
      Path(f"{task}.train.jsonl").write_text(train, encoding="utf-8")
      Path(f"{task}.dev.jsonl").write_text(dev, encoding="utf-8")
    for task in files:
      trained(task, "luke" if task in OF_LUKE else "roberta")
    shutil.rmtree("roberta")
    adapter()
    program()
    stopped_run()
    wiki()
    Path("version.txt").write_text(f"{luke_jax.__version__}\n", encoding="utf-8")
    with tarfile.open(archive, "w:xz", preset=9) as into:
      into.add(".", filter=plain)
  names = archive.with_name(f"{luke_jax.__version__}.txt")
  names.write_text("\n".join(public_names()) + "\n", encoding="utf-8")


def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
  """Returns a member without its owner and its time."""
  member.uid = member.gid = member.mtime = 0
  member.uname = member.gname = ""
  return member


def lines_of(task: str) -> tuple[str, str]:
  """Returns examples of a sample task, to train on and to answer: the latter are three of those."""
  lines = sample_file(task, "train").read_text(encoding="utf-8").splitlines(keepends=True)
  # The head of facts is as large as it has relations.
  return "".join(lines[: 6 if task == "facts" else 24]), "".join(lines[:3])


def luke(*arguments: object, into: str = "") -> None:
  """Runs a command, whose output is perhaps a file."""
  command = [sys.executable, "-m", "luke_jax", *map(str, arguments)]
  found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
  if into:
    Path(into).write_text(found, encoding="utf-8")


def systems(folder: Path) -> None:
  """Writes a model of each system, inputs, and its outputs for them."""
  for system in getattr(small_systems, "TRAINED", small_systems.DISTINCT):
    if not system.model_types:
      continue
    made = network(
      f"{system.prefix}Model", small_systems.small(system, hidden_size=16, intermediate_size=32)
    )
    params = jax.device_get(initial_params(made, jax.random.key(SEED)))
    place = folder / system.name
    Model(made, params, ()).save(place)
    computed(place, place / "golden.npz")


def computed(place: Path, file: Path) -> None:
  """Keeps random inputs of a model, and its outputs for them."""
  model, rng = luke_jax.load(place), np.random.default_rng(SEED)
  inputs = {name: np.asarray(x, np.int32) for name, x in example_inputs(model.network).items()}
  for name in ("input_ids", "entity_ids"):
    if name in inputs:
      most = min(50, model.config.vocab_size, getattr(model.config, "entity_vocab_size", 50))
      inputs[name] = rng.integers(3 if most > 3 else 0, most, inputs[name].shape, dtype=np.int32)
  keep(file, inputs, model(**inputs))


def trained(task: str, start: str) -> None:
  """Trains a task for a few steps, and keeps its model with its answers."""
  train = ("train", task, "--train", f"{task}.train.jsonl", "--dev", f"{task}.dev.jsonl")
  steps = LONGER if task == "typing" else SHORT
  luke(*train, "--model", start, "--output", f"runs-{task}", *steps, *untouched(start))
  shutil.copytree(f"runs-{task}/model", f"tasks/{task}")
  shutil.rmtree(f"runs-{task}")
  computed(Path("tasks", task), Path(f"{task}.npz"))
  more = ("--threshold", "0.497") if task == "facts" else ()  # it is sure of nothing yet
  answered(task, f"tasks/{task}", f"{task}.dev.jsonl", task, *more)


def answered(task: str, model: str, texts: str, name: str, *more: str) -> None:
  """Keeps a model's answers."""
  luke("predict", task, model, texts, *more, into=f"{name}.answers.jsonl")


def adapter() -> None:
  """Trains an adapter, which is read with the model that it started from."""
  files = ("--train", "typing.train.jsonl", "--dev", "typing.dev.jsonl")
  rank = ("--set", "optimizer.adapter=2")
  luke("train", "typing", *files, "--model", "luke", "--output", "runs-adapter", *LONGER, *rank)
  shutil.copytree("runs-adapter/adapter", "adapter")
  shutil.rmtree("runs-adapter")
  answered("typing", "adapter", "typing.dev.jsonl", "adapter", "--backbone", "luke")


def program() -> None:
  """Exports a model's program for XLA, and keeps what it computes."""
  luke("export-program", "tasks/typing")
  model = luke_jax.load("tasks/typing")
  inputs = dict(model.processor("Ana lives in Castrel.", entity_spans=[(13, 20)]))
  keep(Path("program.npz"), inputs, model(**inputs))


def keep(file: Path, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
  """Writes inputs and outputs by their names."""
  named = {f"in {k}": x for k, x in inputs.items()} | {f"out {k}": x for k, x in outputs.items()}
  np.savez_compressed(file, **{k: np.asarray(x) for k, x in named.items()})


def stopped_run() -> None:
  """Trains a whole run, and another that stops half-way."""
  files = ("--train", "typing.train.jsonl", "--dev", "typing.dev.jsonl", "--model", "luke")
  more = sets(f"{STEPS.format(300)} run.log_every=1 run.save_every=100")
  luke("train", "typing", *files, "--output", "whole", *more)
  shutil.copytree("whole/model", "whole-model")
  shutil.rmtree("whole")
  command = ["train", "typing", *files, "--output", "stopped", *more]
  Path("stopped.txt").write_text(" ".join(command), encoding="utf-8")
  whole = [sys.executable, "-m", "luke_jax", *command]
  process = subprocess.Popen(whole, stdout=subprocess.DEVNULL)
  metrics = Path("stopped/metrics.jsonl")
  while not metrics.exists() or '"step": 90' not in metrics.read_text(encoding="utf-8"):
    time.sleep(0.01)
  process.send_signal(signal.SIGTERM)
  assert process.wait() == 75, "it was done before it could be stopped"
  shutil.rmtree("stopped/tensorboard", ignore_errors=True)


def wiki() -> None:
  """Builds a wiki, its tables, a linker's knowledge and a linker."""
  sizes = [
    "--entities",
    "300",
    "--max-words",
    "48",
    "--max-entities",
    "16",
    "--unknown-entities",
    "skip",
  ]
  luke("wiki", "build", DUMP, "--tokenizer", WORDS, *sizes, "--output", "build")
  luke("wiki", "show", "build", "--n", 3, into="build.txt")
  luke("wiki", "export", "build", "--items", ITEMS, "--output", "tables")
  for place in Path("build").iterdir():
    if place.is_dir() and place.name != "pretraining":
      shutil.rmtree(place)
  luke("entities", "describe", "tables", "--model", "luke", "--output", "knowledge")
  small = ("--set", "task.knowledge=knowledge", *SHORT, *untouched("luke"))
  files = ("--train", "knowledge/dev.jsonl", "--dev", "knowledge/dev.jsonl")
  luke("train", "linking", *files, "--model", "luke", "--output", "runs-linking", *small)
  shutil.copytree("runs-linking/model", "tasks/linking")
  shutil.rmtree("runs-linking")
  text = "Marta Oduya painted Castrel."
  Path("linking.jsonl").write_text(json.dumps({"text": text}) + "\n", encoding="utf-8")
  answered("linking", "tasks/linking", "linking.jsonl", "linking")


if __name__ == "__main__":
  main(Path(sys.argv[1]).resolve())
