"""`luke-jax export`."""

from typing import Annotated

from tyro.conf import Positional, arg

from luke_jax.files import Path
from luke_jax.runs.models import export
from luke_jax.training.experiment_files import load_experiment


def run(
  source: Annotated[Path, Positional, arg(metavar="RUN")],
  target: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  /,
  *,
  experiment: Path | None = None,
  adapter: bool = False,
) -> None:
  """Writes a run's best checkpoint, or its newest if no metric was named, as a model directory.

  `luke_jax.load` and transformers read the result. Tokenizer and vocabulary are those of the
  records that a pretraining read, or of the model that another run started from.

      luke-jax export runs/tiny tiny-luke

  Args:
    source: Folder of a run.
    target: Directory to write.
    experiment: Experiment file of the run, if it defines a task or a system of its own.
    adapter: Writes only what a run with optimizer.adapter changed, for luke_jax.load alone.
  """
  own = load_experiment(experiment) if experiment else None
  model, step = export(source, target, own, adapter=adapter)
  print(f"{target}: {model.architecture} of step {step}")
