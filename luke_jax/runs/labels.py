"""The labels of a run's examples and their vectors, which its start knows them by."""

import dataclasses

from luke_jax.convert.adapters import is_adapter_directory
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.inference.label_vectors import reader_of
from luke_jax.runs.starts import start_directory
from luke_jax.tasks.files import Faults
from luke_jax.tasks.labels.task import LabelledNames
from luke_jax.tasks.labels.wordings import TEXTS, open_wordings, write_wordings
from luke_jax.training import messages
from luke_jax.training.directory import LABELS
from luke_jax.training.experiment import Experiment


def with_label_table(experiment: Experiment, folder: Path) -> Experiment:
  """Returns an experiment whose task, if it learns labels, has their vectors in the folder."""
  task = experiment.task
  if not isinstance(task, LabelledNames) or task.table:
    return experiment
  rank, start = experiment.optimizer.adapter, experiment.run.start
  if not rank or start is None:
    raise InputError(
      f"optimizer.adapter: {rank}; expected a rank, such as 16, and run.start: the start reads"
      " labels, and what is trained is kept beside it"
    )
  place = folder / LABELS
  messages.from_first(lambda: _write(task, start_directory(start), place))
  return dataclasses.replace(experiment, task=dataclasses.replace(task, table=str(place)))


def _write(task: LabelledNames, start: Path, place: Path) -> None:
  if is_adapter_directory(start):
    raise InputError(f"run.start: {start}: an adapter; expected the model that it was made from")
  faults = Faults(skip=task.skip_bad)
  examples = [x for file in task.splits.values() for x in task.read_examples(file, faults)]
  texts = list(dict.fromkeys(task.wordings(examples)))
  if (place / TEXTS).is_file() and open_wordings(str(place)).texts == tuple(texts):
    return
  print(f"reading {len(texts):,} labels", flush=True)
  write_wordings(place, texts, reader_of(start).vectors(texts))
