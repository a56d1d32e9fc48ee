"""`luke-jax score`."""

from typing import Annotated

from tyro.conf import OmitArgPrefixes, Positional, arg

from luke_jax.cli.file_options import FileOptions, with_attributes
from luke_jax.cli.task_inputs import report_faults
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import Faults
from luke_jax.tasks.known import TaskName, task_class, task_scores
from luke_jax.training.metrics import summary_line


def run(
  task: Annotated[TaskName, Positional, arg(metavar="TASK")],
  /,
  *,
  gold: Path,
  predictions: Path,
  skip_bad: bool = False,
  attributes: str = "",
  form: OmitArgPrefixes[FileOptions],
) -> None:
  """Scores any system's predictions by a task's official metric; prints JSON.

  Predictions are JSON lines with the ids of the examples, as `luke-jax predict` writes them, or
  files that the task's official script reads.

      luke-jax score qa --gold dev-v1.1.json --predictions answers.json

  Args:
    task: typing, relations, ner, cloze, qa, classification or tagging.
    gold: File of examples with answers.
    predictions: File of predictions.
    skip_bad: Leaves out examples that are faulty, and counts them.
    attributes: For classification: names of attributes that texts have, such as user,product.
  """
  faults = Faults(skip=skip_bad)
  settings = with_attributes(form.of(task_class(task)()), attributes)
  examples = settings.read_examples(str(gold), faults)
  if not examples:
    raise InputError(f"{gold}: no examples; expected one at least")
  scores = task_scores(task)
  by_id = scores.read_predictions(predictions, faults)
  if not by_id:
    raise InputError(f"{predictions}: no predictions; expected one for each example")
  report_faults(faults)
  summary = dict(scores.score_file(examples, by_id)) | {"examples": len(examples)}
  print(summary_line(summary | {"predictions": len(by_id)}))
