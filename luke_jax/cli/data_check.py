"""`luke-jax data check`."""

import collections
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from luke_jax.errors import InputError
from luke_jax.tasks.datasets import is_split
from luke_jax.tasks.files import Faults
from luke_jax.tasks.fine_tuning import read_examples
from luke_jax.tasks.names import TaskName, task_class, task_files


def run(
  file: Annotated[str, Positional, arg(metavar="FILE")],
  /,
  *,
  task: TaskName,
) -> int:
  """Check a file of examples: say every fault with its line, and what the file has.

  The status is 2 where something is wrong.

      luke-jax data check train.conll --task ner

  Args:
    file: File of examples, or FOLDER:SPLIT of a dataset.
    task: typing, relations, ner, cloze or qa.
  """
  if not is_split(file) and not Path(file).is_file():
    raise InputError(f"{file}: no such file; expected a file of examples")
  faults = Faults(skip=True)
  examples: list[Any] = []
  try:
    examples = read_examples(task_class(task)(), file, faults)
  except InputError as fault:
    faults.found.append(fault)
  if not examples and not faults.found:
    faults.found.append(InputError(f"{file}: no examples; expected one at least"))
  for fault in faults.found:
    print(fault)
  print(_summary(file, [task_files(task).to_json(x) for x in examples], len(faults.found)))
  return 2 if faults.found else 0


def _summary(file: str, examples: list[dict[str, Any]], faults: int) -> str:
  labels = collections.Counter(label for example in examples for label in _labels(example))
  counts = ", ".join(f"{label} {count}" for label, count in labels.most_common())
  said = [f"examples: {len(examples)}", f"faults: {faults}"]
  answered = sum("answers" in example for example in examples)
  said += [f"with answers: {answered}"] * bool(answered) + [f"labels: {counts}"] * bool(labels)
  return f"{file}: {'; '.join(said)}"


def _labels(example: dict[str, Any]) -> list[str]:
  of_spans = [label for _, _, label in example.get("spans", ())]
  one = [example["label"]] if "label" in example else []
  return [*example.get("labels", ()), *one, *of_spans]
