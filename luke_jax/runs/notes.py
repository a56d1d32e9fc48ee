"""Notes of a run for its model's card: data, settings, scores and machine."""

import datetime
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import luke_jax
from luke_jax.convert.card import card_facts
from luke_jax.english import named
from luke_jax.errors import InputError
from luke_jax.files import Path, sample, write_json
from luke_jax.formats.datasets import is_split
from luke_jax.inference.settings import LOCAL
from luke_jax.pipeline.metadata import METADATA, read_metadata
from luke_jax.runs.results import RESULT, hardware, hash_of, revision, versions
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.running import Running
from luke_jax.training import directory
from luke_jax.training.checkpoints import Checkpoints
from luke_jax.training.experiment import Experiment, leaves, to_dict

NOTES = "notes.json"  # in a run's folder
# Settings left out of the card: without effect on the scores, reported elsewhere, or local paths.
OMITTED = {"task.class", "task.corpora", "run.start", "run.seed", *directory.FREE}
OMITTED |= {f"task.{name}" for name in LOCAL if name != "words"}
PARTS = ("task", "data", "optimizer", "schedule", "run")
MODEL_SETTINGS = ("hidden_dropout_prob", "attention_probs_dropout_prob")
RUNNING_SETTINGS = ("dtype",)
# What a task reads of a directory is its tokenizer and its vocabularies, no weights.
_TEXT = ("tokenizer", "vocab", "merges", "sentencepiece", "spiece", "spm", "entity_vocab")
_MODEL = "model"  # in the folder of a run


def write_notes(folder: Path, data: list[dict[str, Any]], summary: Mapping[str, Any]) -> None:
  """Writes the notes of a training, unless they are there.

  A finished run may be called again on another machine, whose hardware must not be recorded. After
  a kill between the last checkpoint and its notes there are none, or older ones.
  """
  path = folder / NOTES
  if summary["step"] != (directory.read_json(path).get("step") if path.is_file() else None):
    write_json(folder / NOTES, _notes(data, summary))


def _notes(data: list[dict[str, Any]], summary: Mapping[str, Any]) -> dict[str, Any]:
  return {
    "data": data,
    "step": summary["step"],
    "steps": summary["steps"],
    "seconds": round(sum(summary["seconds"].values()), 1),
    "hardware": hardware(),
    "versions": versions(),
    "revision": _revision(Path(luke_jax.__file__).parent),
    "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
  }


def run_record(folder: Path, step: int, experiment: Experiment) -> dict[str, object]:
  """Returns the origin of a model exported from a checkpoint: data, settings and scores."""
  notes = directory.read_json(folder / NOTES) if (folder / NOTES).is_file() else {}
  return {
    **notes,
    "task": experiment.task.name,
    "step": step,
    "seed": experiment.run.seed,
    "start": _start(experiment.run.start),
    "settings": dict(_settings(experiment)),
    "scores": _scores(folder, experiment, step),
  }


def _revision(package: Path) -> str:
  """Returns the commit of a checkout; an installed package may lie in another repository."""
  return revision(package) if (package.parent / "pyproject.toml").is_file() else ""


def described_data(experiment: Experiment) -> Iterator[dict[str, Any]]:
  """Yields a description of each split; files that are gone have no hash."""
  task = experiment.task
  for folder in map(Path, experiment.engine.folders):
    metadata = read_metadata(folder)
    entry = {"split": "train, dev", "file": folder.name, "examples": metadata.records}
    yield {**entry, "sha256": hash_of(str(folder / METADATA)), "language": metadata.language}
  for split in ("train", "dev"):
    if file := experiment.engine.splits.get(split):
      records: Any = experiment.engine.records(experiment.backbone, split)
      entry = {"split": split, "file": Path(file).name, "examples": len(records.examples)}
      yield {**entry, "sha256": hash_of(file)}
  if isinstance(task, TextTask) and task.held_out and not task.dev:
    count = len(Running(task).records(experiment.backbone, "dev").examples)
    file = task.train
    entry = {"split": "dev", "file": f"{Path(file).name}, {count:,} examples held out"}
    yield {**entry, "examples": count, "sha256": hash_of(file)}


def _start(start: str | None) -> dict[str, object] | None:
  """Returns the name of what a run started from, with the licence and language of its card."""
  if start is None:
    return None
  path = Path(start)
  card = card_facts(path / _MODEL) or card_facts(path)
  run = path.parent if path.name == _MODEL else path
  boxed = named(path)
  return {"name": run.name if boxed == str(path) else boxed, **card}


def _settings(experiment: Experiment) -> Iterator[tuple[str, object]]:
  values = to_dict(experiment)
  for part in PARTS:
    for name, value in leaves(values[part], part):
      if name not in OMITTED and value not in (None, []):
        yield name, value
  for name in MODEL_SETTINGS:
    if name in values["model"]:
      yield f"model.{name}", values["model"][name]
  for name in RUNNING_SETTINGS:
    yield f"running.{name}", values["running"][name]


def _scores(folder: Path, experiment: Experiment, step: int) -> dict[str, object]:
  """Returns scores by split, of `luke-jax experiment run` if it has run, else of the checkpoint."""
  if (folder / RESULT).is_file():
    return directory.read_json(folder / RESULT)["scores"]
  whole = folder / directory.WHOLE
  if whole.is_file() and (kept := directory.read_json(whole))["step"] == step:
    return {"dev": kept["scores"]}
  checkpoints = Checkpoints(folder / directory.CHECKPOINTS, experiment.run, reading=True)
  try:
    scores = checkpoints.scores(step)
  except InputError:
    scores = {}
  finally:
    checkpoints.close()
  return {"dev": scores} if scores else {}


def fingerprints(experiment: Experiment) -> dict[str, str]:
  """Returns a hash for each file that the rows of the experiment's records depend on."""
  reads, text = experiment.engine.reads(), experiment.engine.text_directory
  files = [*reads.whole, *map(str, _text_files(Path(text)) if text else ())]
  hashes = {source: hash_of(source) or _missing(source) for source in files}
  return hashes | {name: _sampled(Path(name)) for name in reads.parts}


def _sampled(path: Path) -> str:
  """Returns a hash of a large file's name, size and some blocks."""
  try:
    return hashlib.sha256(sample(path)).hexdigest()
  except FileNotFoundError:
    _missing(path)


def _text_files(folder: Path) -> list[Path]:
  """Returns the files of a directory's tokenizer and vocabularies."""
  files = sorted(folder.iterdir()) if folder.is_dir() else []
  return [path for path in files if path.name.startswith(_TEXT) and path.is_file()]


def _missing(path: str | Path) -> NoReturn:
  expected = "FOLDER:SPLIT or a file" if is_split(str(path)) else "a file that can be read"
  raise InputError(f"{path}: no such file; expected {expected}")
