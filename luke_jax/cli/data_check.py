"""`luke-jax data check`."""

import collections
import warnings
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from tyro.conf import OmitArgPrefixes, Positional, arg

from luke_jax.cli.data_look import look
from luke_jax.cli.file_options import FileOptions, with_attributes
from luke_jax.convert.sources import read_backbone
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.runs.models import model_directory
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.tasks.datasets import is_split
from luke_jax.tasks.files import Faults
from luke_jax.tasks.known import TaskName, task_class, task_files


def run(
  file: Annotated[str, Positional, arg(metavar="FILE")],
  /,
  *,
  task: TaskName,
  model: Path | None = None,
  attributes: str = "",
  form: OmitArgPrefixes[FileOptions],
) -> int:
  """Checks a file of examples: reports every fault with its line, and what the file has.

  For ner, also prints the number of entities that a model can find, and two examples as they are
  read, in its word pieces with --model. The status is 2 if something is wrong.

      luke-jax data check train.conll --task ner --model luke-base

  Args:
    file: File of examples, or FOLDER:SPLIT of a dataset.
    task: typing, relations, ner, cloze, qa, classification or tagging.
    model: Directory of the model that is to be trained, whose tokenizer reads the examples too.
    attributes: For classification: names of attributes that texts have, such as user,product.
  """
  if not is_split(file) and not Path(file).is_file():
    raise InputError(f"{file}: no such file; expected a file of examples")
  directory = model_directory(model) if model else None
  settings = form.of(task_class(task)(text=str(directory or "")))
  settings = with_attributes(settings, attributes)
  # Before the file is read, so that a fault of the model is not reported as one of the file.
  reading = settings.processor(read_backbone(directory)) if directory else None
  faults = Faults(skip=True)
  examples: list[Any] = []
  lines: list[str] = []
  with warnings.catch_warnings(record=True) as notes:
    warnings.simplefilter("always")
    try:
      examples = settings.read_examples(file, faults)
      lines = look(settings, file, examples, faults, reading)
    except InputError as fault:
      faults.found.append(fault)
  if not examples and not faults.found:
    faults.found.append(InputError(f"{file}: no examples; expected one at least"))
  for line in (*faults.found, *(note.message for note in notes), *lines):
    print(line)
  summary = _summary(file, [task_files(task).to_json(x) for x in examples], len(faults.found))
  print("; ".join([summary, *_attributes(settings, examples)]))
  return 2 if faults.found else 0


def _summary(file: str, examples: list[dict[str, Any]], faults: int) -> str:
  labels = collections.Counter(label for example in examples for label in _labels(example))
  counts = ", ".join(f"{label} {count}" for label, count in labels.most_common())
  parts = [f"examples: {len(examples)}", f"faults: {faults}"]
  answered = sum("answers" in example for example in examples)
  parts += [f"with answers: {answered}"] * bool(answered) + [f"labels: {counts}"] * bool(labels)
  return f"{file}: {'; '.join(parts)}"


def _attributes(settings: Any, examples: Sequence[Any]) -> Iterator[str]:
  """Yields how many values each attribute has."""
  if isinstance(settings, TextClassification):
    for number, name in enumerate(settings.attributes.names):
      yield f"{name}: {len({x.attributes[number] for x in examples})} values"


def _labels(example: dict[str, Any]) -> list[str]:
  of_spans = [label for _, _, label in example.get("spans", ())]
  one = [example["label"]] if "label" in example else []
  return [*example.get("labels", ()), *one, *of_spans]
