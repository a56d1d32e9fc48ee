"""The demo's steps, and where they run."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import luke_jax
from luke_jax.convert.published import ENGLISH as MINILM
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.runs.steps import Step, Where

WIKI = "data/sample_wiki"
_CHECKOUT, _PACKED = Path(luke_jax.__file__).resolve().parents[1], Path(__file__).with_name("files")
# What steps read lies in the repository; a wheel has it beside this module.
REPOSITORY = _CHECKOUT if (_CHECKOUT / WIKI).is_dir() else _PACKED
ENGLISH = "data/english/sample"
SEED = 1
# The record sizes that experiments/pretraining.py:tiny expects.
RECORD_OPTIONS = (
  *("--entities", "300", "--max-words", "48", "--max-entities", "16"),
  *("--unknown-entities", "skip"),
)
COMPILED = "compiled"  # XLA's cache, since half of the programs occur in two steps
FRESH = "-not-pretrained"  # suffix of the step that trains a task from random parameters


def check_repository() -> None:
  """Raises InputError unless the files that steps read are present."""
  for name in (WIKI, ENGLISH, "experiments/sample.py"):
    if not (REPOSITORY / name).exists():
      raise InputError(
        f"{REPOSITORY}: no {name}; expected what a wheel of luke_jax or a checkout of the"
        " repository has"
      )


def steps(folder: Path) -> list[Step]:
  """Returns all steps, each after those it needs; the longest come first."""
  if folder.is_relative_to(REPOSITORY):  # the working directory of the steps
    folder = folder.relative_to(REPOSITORY)
  return [*_english(folder), *_from_a_dump(folder)]


def _english(folder: Path) -> list[Step]:
  """Returns the steps about real English, from weights that know it."""
  fetched = [] if MINILM.is_here else [Step("english", "fetch MiniLM, 83 MB", ("get", "english"))]
  needs = tuple(step.name for step in fetched)
  train = _trained(folder, "relations", "experiments/english.py:relations-demo")
  names = f"{ENGLISH}/ner/test.jsonl"
  scored = ("evaluate", "ner", "english/ner", names, "--html", str(folder / "names.html"))
  convert = ("convert", f"{run_folder(folder, 'relations')}/model", str(folder / "pytorch"))
  return [
    *fetched,
    Step("relations", "train on relations in English", train, needs, "relations", long=True),
    Step("names", "score the names in the box", scored, needs),
    Step("pytorch", "a directory for PyTorch", convert, ("relations",), "pytorch"),
  ]


def _from_a_dump(folder: Path) -> list[Step]:
  """Returns the steps from a wiki's dump to a pretrained model and one that was fine-tuned."""
  records, model, run = folder / "records", folder / "luke", str(folder / "pretraining")
  text = records / "pretraining"
  build = ("wiki", "build", f"{WIKI}/samplewiki-pages-articles-multistream.xml.bz2")
  build += ("--tokenizer", f"{WIKI}/tokenizer", *RECORD_OPTIONS, "--output", str(records))
  pretrain = ("train", "experiments/pretraining.py:tiny", "--output", run)
  pretrain += ("--set", f"task.corpora={json.dumps([str(text)])}")
  typing, changes = "experiments/sample.py:typing", (f"task.text={text}", "run.epochs=2")
  first = _trained(folder, "typing", typing, (*changes, f"run.start={model}"))
  fresh = _trained(folder, "typing" + FRESH, typing, (*changes, "run.start=null"))
  return [
    Step("records", "wiki dump to training records", build, (), "records"),
    Step("pretraining", "pretrain a tiny LUKE", pretrain, ("records",), "pretraining"),
    Step("export", "model directory", ("export", run, str(model)), ("pretraining",), "luke"),
    Step("typing", "fine-tune: types", first, ("export",), "typing"),
    Step("typing" + FRESH, "not pretrained: types", fresh, ("records",), "typing" + FRESH),
  ]


def _trained(
  folder: Path, name: str, experiment: str, changes: Sequence[str] = ()
) -> tuple[str, ...]:
  output = ("--seeds", str(SEED), "--output", str(folder / name))
  sets = (part for change in changes for part in ("--set", change))
  return ("experiment", "run", experiment, *output, *sets)


def run_folder(folder: Path, name: str) -> Path:
  """Returns the folder of a step's run."""
  return folder / name / f"seed-{SEED}"


def result(folder: Path, name: str) -> Mapping[str, Any]:
  """Returns the result that a step's run wrote."""
  return json.loads((run_folder(folder, name) / "result.json").read_text(encoding="utf-8"))


def where(folder: Path) -> Where:
  """Returns the place in which all steps of a folder run."""
  return Where(
    REPOSITORY,
    {
      "JAX_COMPILATION_CACHE_DIR": str(folder / COMPILED),
      "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
      # An accelerator gains nothing with such small models, and two processes cannot share one.
      "JAX_PLATFORMS": "cpu",
      # Memory of large arrays is kept for the next step; the system would clear it each time.
      "MALLOC_MMAP_MAX_": "0",
      "MALLOC_TRIM_THRESHOLD_": "100000000000",
      # At this level compiling takes a third less time, and the programs are as fast.
      "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=1",
    },
  )
