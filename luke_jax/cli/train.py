"""`luke-jax train`."""

import functools
from pathlib import Path
from typing import Annotated

import jax
from tyro.conf import Positional, UseAppendAction, arg

from luke_jax.cli.start import start_params
from luke_jax.errors import InputError
from luke_jax.training import processes
from luke_jax.training.loop import train
from luke_jax.training.metrics import summary_line
from luke_jax.training.overrides import describe, load_experiment, override


def run(
  experiment: Annotated[Path, Positional, arg(metavar="EXPERIMENT")],
  /,
  *,
  output: Path,
  set: UseAppendAction[tuple[str, ...]] = (),
  coordinator: str | None = None,
  processes_in_all: Annotated[int | None, arg(name="processes")] = None,
  process: int | None = None,
) -> None:
  """Train what an experiment file describes, or go on with it: the same command resumes.

  On a cluster or a TPU slice run the same command on every host; they find each other. SIGTERM
  saves a checkpoint and leaves with status 0. The last line printed is a summary in JSON.

      luke-jax train experiments/tiny.py --output runs/tiny --set optimizer.learning_rate=2e-5

  Args:
    experiment: Python file with a function `config()` that returns an Experiment.
    output: Folder for checkpoints, metrics and the config; on every host the same.
    set: A field by its dotted name and its value, as often as needed.
    coordinator: Address of process 0, host:port, where processes cannot find each other.
    processes_in_all: How many processes there are.
    process: Which of them this is, from 0.
  """
  if "://" in str(output) or ":/" in str(output):
    raise InputError(f"--output: {output}; expected a folder that every host has mounted")
  processes.join(coordinator, processes_in_all, process)
  chosen = override(load_experiment(experiment), set)
  if jax.process_index() == 0:
    print(describe(chosen))
  start = chosen.run.start
  if start and not Path(start).is_dir():
    raise InputError(f"run.start: {start}; expected a model directory or the folder of a run")
  params = functools.partial(start_params, Path(start), chosen) if start else None
  summary = train(chosen, output, start=params)
  if jax.process_index() == 0:
    print(summary_line(summary))
