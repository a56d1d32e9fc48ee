"""`luke-jax export`."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from luke_jax.cli.fine_tune import run_model
from luke_jax.convert import Model, load
from luke_jax.convert.card import with_record
from luke_jax.convert.text_side import read_text_side
from luke_jax.convert.vocabularies import add_second_mask
from luke_jax.models.luke import ARCHITECTURES
from luke_jax.results.run_notes import run_record
from luke_jax.tasks.names import is_fine_tuned
from luke_jax.training.experiment import Experiment
from luke_jax.training.export import is_run, read_experiment, read_run


def run(
  source: Annotated[Path, Positional, arg(metavar="RUN")],
  target: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  /,
) -> None:
  """Write a run's best checkpoint, or its newest if no metric was named, as a model directory.

  What this writes is read by `luke_jax.load` and by transformers. Tokenizer and vocabulary are
  those of the records that a pretraining read, or of the model that another run started from.

      luke-jax export runs/tiny tiny-luke

  Args:
    source: Folder of a run.
    target: Directory to write.
  """
  fine_tuned = is_fine_tuned(read_experiment(source).task)
  model, record = run_model(source) if fine_tuned else _pretrained(source)
  with_record(model, record).save(target)
  print(f"{target}: {model.architecture} of step {record['step']}")


def _pretrained(source: Path) -> tuple[Model, dict[str, Any]]:
  experiment, step, params = read_run(source)
  config = dataclasses.replace(experiment.model, dtype="float32")
  model = Model(ARCHITECTURES[experiment.task.architecture](config), params)
  named, origin = experiment.task.text_directory, _origin(experiment)
  if named is not None:
    tokenizer, processor = read_text_side(config, Path(named), None, None)
    model = dataclasses.replace(model, tokenizer=tokenizer, processor=processor)
  elif origin is not None:
    first = load(origin)
    model = dataclasses.replace(model, tokenizer=first.tokenizer, processor=first.processor)
  # Without a second mask, transformers' tokenizer reads no vocabulary.
  return add_second_mask(model), run_record(source, step)


def _origin(experiment: Experiment) -> Path | None:
  """The model directory that the first of the runs started from, each from the one before."""
  start = experiment.run.start
  while start is not None and is_run(Path(start)):
    start = read_experiment(Path(start)).run.start
  return None if start is None else Path(start)
