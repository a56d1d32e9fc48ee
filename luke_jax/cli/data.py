"""`luke-jax data check`."""

import collections
import itertools
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, TypeVar

from tyro.conf import OmitArgPrefixes, Positional, arg

from luke_jax.cli.task_inputs import FileOptions, with_attributes
from luke_jax.convert.sources import read_backbone
from luke_jax.errors import InputError
from luke_jax.files import Path, is_there
from luke_jax.formats.datasets import is_split
from luke_jax.formats.files import Faults, asked_in, labels_in
from luke_jax.runs.models import model_directory
from luke_jax.runs.outline import TOO_RARE
from luke_jax.show.marked import marked_line, pieces_of
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.known import TaskName, task_class
from luke_jax.tasks.ner.documents import NamesExample, to_words
from luke_jax.tasks.predictions import Labelled
from luke_jax.tasks.running import processor_for, read_examples
from luke_jax.text import Processor, Row, Tokenizer
from luke_jax.text.unknown import counted


def data_check(
  files: Annotated[tuple[str, ...], Positional, arg(metavar="FILE")],
  /,
  *,
  task: TaskName,
  model: Path | None = None,
  attributes: str = "",
  form: OmitArgPrefixes[FileOptions],
) -> int:
  """Checks files of examples: reports every fault with its line, and what a file has.

  Of several files, such as those to train on, of dev and of test, also what the others share with
  the first, and which labels it lacks. For ner, prints the number of entities that a model can
  find, and two examples as they are read, in its word pieces with --model. The status is 2 if
  something is wrong.

      luke-jax data check train.conll test.conll --task ner --model luke-base

  Args:
    files: Files of examples, or FOLDER:SPLIT of a dataset.
    task: typing, relations, ner, cloze, qa, classification, tagging, linking, labels or facts.
    model: Directory of the model that is to be trained, whose tokenizer reads the examples too.
    attributes: For classification: names of attributes that texts have, such as user,product.
  """
  if not files:
    raise InputError("FILE: missing; expected one at least")
  for file in files:
    if not is_split(file) and not is_there(file):
      raise InputError(f"{file}: no such file; expected a file of examples")
  directory = model_directory(model) if model else None
  settings = form.of(task_class(task)(text=str(directory or "")))
  settings = with_attributes(settings, attributes)
  # Before the file is read, so that a fault of the model is not reported as one of the file.
  reading = processor_for(settings, read_backbone(directory)) if directory else None
  checked = [_check(file, settings, reading) for file in files]
  for file, (examples, _) in zip(files[1:], checked[1:], strict=True):
    for line in _compared(checked[0][0], examples):
      print(f"{files[0]} and {file}: {line}")
  return 2 if any(faults for _, faults in checked) else 0


def _check(
  file: str, settings: TextTask, reading: Processor | None
) -> tuple[list[dict[str, object]], int]:
  """Prints what there is to say of a file; returns its examples as JSON, and its faults."""
  faults = Faults(skip=True)
  examples: list[object] = []
  lines: list[str] = []
  with warnings.catch_warnings(record=True) as notes:
    warnings.simplefilter("always")
    try:
      examples = read_examples(settings, file, faults)
      lines = look(settings, file, examples, faults, reading)
    except InputError as fault:
      faults.found.append(fault)
  if not examples and not faults.found:
    faults.found.append(InputError(f"{file}: no examples; expected one at least"))
  for line in (*faults.found, *(note.message for note in notes), *lines):
    print(line)
  as_json = [dict(settings.to_json(x)) for x in examples]
  summary = _summary(file, as_json, len(faults.found))
  print("; ".join([summary, *settings.summary(examples)]))
  return as_json, len(faults.found)


def _compared(train: list[dict[str, object]], other: list[dict[str, object]]) -> Iterator[str]:
  """Yields lines on examples that are also trained on, and labels that training has too few of."""
  known = set(map(asked_in, train))
  if both := sum(asked_in(example) in known for example in other):
    yield f"{both} of the latter's examples are in both: scores on them are too high"
  counts = collections.Counter(label for example in train for label in labels_in(example))
  rare = sorted({x for example in other for x in labels_in(example) if counts[x] < TOO_RARE})
  if rare:
    told = ", ".join(f"{label} {counts[label]}" for label in rare)
    yield f"labels of the latter with less than {TOO_RARE} examples in the former: {told}"


def _summary(file: str, examples: list[dict[str, object]], faults: int) -> str:
  labels = collections.Counter(label for example in examples for label in labels_in(example))
  counts = ", ".join(f"{label} {count}" for label, count in labels.most_common())
  parts = [f"examples: {len(examples)}", f"faults: {faults}"]
  answered = sum("answers" in example for example in examples)
  parts += [f"with answers: {answered}"] * bool(answered) + [f"labels: {counts}"] * bool(labels)
  return f"{file}: {'; '.join([*parts, *_doubtful(examples, labels)])}"


def _doubtful(examples: list[dict[str, object]], labels: collections.Counter[str]) -> Iterator[str]:
  """Yields lines on examples that are no fault, yet make a model worse or its scores misleading."""
  asked = collections.Counter(map(asked_in, examples))
  if twice := sum(asked.values()) - len(asked):
    different = len({json.dumps(example | {"id": ""}) for example in examples})
    others = len(examples) - twice
    yield f"repeated: {twice}, {different - others} of them with other labels"
  if len(labels) == 1 and "spans" not in examples[0]:
    yield "a single label: nothing can be learnt"
  elif len(labels) > 1 and max(labels.values()) > UNBALANCED * labels.total():
    yield f"unbalanced: {max(labels, key=labels.__getitem__)} is most of them"


UNBALANCED = 0.9  # share of all labels that one has
SHOWN, MISSED = 2, 3  # examples, and entities that cannot be found
LONGEST = 40  # characters of such an entity
T = TypeVar("T")


def look(
  settings: TextTask,
  file: str,
  examples: Sequence[Any],
  faults: Faults,
  reading: Processor | None = None,
) -> list[str]:
  """Returns lines about a file's examples as a model's processor, if there is one, reads them.

  What cannot be read or learnt is added to the faults.
  """
  of_names = [x for x in examples if isinstance(x, NamesExample)]
  if reading is None:
    return [*_findable(settings, file, of_names, faults), *_words(of_names)]
  settings = settings.of_examples(examples)
  counts, counting = counted(reading)
  with warnings.catch_warnings():
    if of_names:  # the number of missed entities is warned of, as the lines below say
      warnings.simplefilter("ignore")
    rows = settings.features(counts, examples, faults)
  counting.warn(file)
  findable = _findable(settings, file, of_names, faults, rows)
  return [*findable, *_pieces(reading.tokenizer, settings, examples, rows)]


def _findable(
  settings: TextTask,
  file: str,
  examples: Sequence[NamesExample],
  faults: Faults,
  rows: Sequence[Row] | None = None,
) -> Iterator[str]:
  """Yields the first entities of documents that cannot be found, and how many can."""
  total = sum(len(example.spans or ()) for example in examples)
  if not total:
    return
  by_example: dict[int, list[Row]] = {number: [] for number in range(len(examples))}
  for row in rows or ():
    by_example[row.example].append(row)
  lost = [
    one
    for number, example in enumerate(examples)
    for one in settings.missed(example, rows and by_example[number])
  ]
  for one in lost[:MISSED]:
    yield f"{one.place}: {one.text[:LONGEST]!r} cannot be found: {one.why}"
  yield f"entities that can be found: {total - len(lost)} of {total}"
  if len(lost) == total:
    faults.found.append(InputError(f"{file}: no entity can be found; expected whole words"))


def _first(items: Iterable[T], has_spans: Callable[[T], object]) -> list[T]:
  """Returns the first examples with spans, or the first examples if none has any."""
  listed = list(items)
  return list(itertools.islice(filter(has_spans, listed), SHOWN)) or listed[:SHOWN]


def _words(examples: Sequence[NamesExample]) -> Iterator[str]:
  """Yields the sentences with documents' first entities, by words."""
  for example in _first((x for x in examples if x.words), _spans):
    spans = _spans(example)
    first, last = 0, 0
    for sentence in example.sentences:
      first, last = last, last + len(sentence)
      if not spans or min(spans).start < last:
        break
    inside = [Labelled(start - first, end - first, label) for start, end, label in spans]
    words = [f" {example.text[start:end]}" for start, end in example.words[first:last]]
    yield f"example {example.id}: {marked_line(words, [x for x in inside if x.end <= len(words)])}"


def _spans(example: NamesExample) -> list[Labelled]:
  return [span for span in to_words(example, example.spans or ()) if span]


def _pieces(
  tokenizer: Tokenizer, settings: TextTask, examples: Sequence[Any], rows: Sequence[Row]
) -> Iterator[str]:
  """Yields rows with entities, by word pieces."""
  firsts: dict[int, Row] = {}
  for row in rows:
    if row.example not in firsts or not settings.marks(firsts[row.example]):
      firsts[row.example] = row
  for row in _first(firsts.values(), settings.marks):
    pieces = pieces_of(tokenizer, row.input_ids.tolist())
    yield f"example {examples[row.example].id}: {marked_line(pieces, settings.marks(row))}"
