"""`luke-jax export`."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from luke_jax.runs.models import export


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
  model, step = export(source, target)
  print(f"{target}: {model.architecture} of step {step}")
