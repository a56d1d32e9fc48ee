"""`luke-jax predict`."""

import dataclasses
import functools
import io
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, TextIO

from tyro.conf import OmitArgPrefixes, Positional, arg

from luke_jax.cli.process import counted
from luke_jax.cli.task_inputs import FileOptions, ModelOptions, report_faults, warn_of_scores
from luke_jax.convert.parts import ModelParts
from luke_jax.convert.reading import read
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place, is_file_in, is_there, whole
from luke_jax.formats.datasets import is_split
from luke_jax.formats.files import Faults, json_object, lines, lines_of, parse_items
from luke_jax.formats.shards import PACKED
from luke_jax.inference.corpus import (
  FAULTY,
  AnsweredShard,
  Answerer,
  answer_corpus,
  embedder,
  predictor,
  shards_of,
)
from luke_jax.inference.predicting import Abstaining, for_predictions, predictions
from luke_jax.inference.text_vectors import Pool
from luke_jax.runs.models import backbone_of, model_directory
from luke_jax.show.picture import STYLE
from luke_jax.show.predictions import pictured, shown
from luke_jax.tasks.contract import SENTENCE, Example, Prediction, TextTask
from luke_jax.tasks.labels.wordings import labels_in
from luke_jax.tasks.ner.files import to_columns
from luke_jax.tasks.predictions import Span
from luke_jax.tasks.running import read_examples
from luke_jax.terminal import Console
from luke_jax.web_page import FOOT, head
from luke_jax.wiki.stages.engines import EngineOptions

LONG_TEXT = 50_000  # characters of a text, whose reading takes seconds
LINES, COLUMNS, PAGE, STANDARD_INPUT = (".jsonl", ".txt"), ".conll", ".html", "-"


def run(
  task: Annotated[str, Positional, arg(metavar="TASK|EXPERIMENT")],
  directory: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  sources: Annotated[tuple[str, ...], Positional, arg(metavar="FILE|TEXT|-|SHARDS")] = (
    STANDARD_INPUT,
  ),
  /,
  *,
  output: Annotated[str, arg(metavar="PATH")] = "",
  skip_bad: bool = False,
  threshold: float | None = None,
  reading: OmitArgPrefixes[ModelOptions],
  form: OmitArgPrefixes[FileOptions],
  engine: OmitArgPrefixes[EngineOptions],
) -> None:
  """Prints a fine-tuned model's predictions for any number of texts.

  In a terminal the texts are shown with the predictions marked; elsewhere, and in --output, each
  prediction is a line of JSON. A file may have any form that the task reads; lines of standard
  input and of .txt files are objects of JSON or, where a task needs no more, texts.

      luke-jax predict ner runs/ner "Ana lives in Paris."
      luke-jax predict qa runs/qa questions.jsonl --output answers.jsonl
      luke-jax predict ner runs/ner test.conll --output predicted.conll
      luke-jax predict labels runs/labels texts.txt --labels "ship, award: a prize given for merit"
      luke-jax predict ner english/ner corpus/ --output answers/

  Several files or a folder are the shards of a corpus: Parquet, Arrow, .jsonl or .txt,
  also as .gz or .zst; a large file is several. In the folder --output each becomes a shard with a
  column more, `prediction`; the same command goes on where it was ended.

  Args:
    task: typing, relations, ner, cloze, qa, classification, tagging, linking, labels or facts, or
      an experiment file that defines a task.
    directory: Directory or name of a model, or the folder of the run that made it.
    sources: File of examples, a text, an object of JSON, or - for standard input; or shards.
    output: File for the predictions: a page if its name ends in .html, and of ner and tagging in
      columns if it ends in .conll. Of a corpus, a folder.
    skip_bad: Leaves out examples that are faulty, and counts them.
    threshold: Least score of an answer, as luke-jax evaluate --precision tells it; others are none.
  """
  if is_corpus(sources, output):
    opened = functools.partial(_predictor, task, directory, reading, form, threshold)
    options = (task, threshold, reading, form, labels_in(reading.labels))
    answer_shards(Shards(sources, output, [directory], skip_bad), opened, options, engine)
    return
  (source,), place = sources, Path(output) if output else None
  if place:
    check_place(place)
  model, abstaining = _read(task, directory, reading, form, threshold)
  settings = abstaining.task
  write = _writer(place, settings)
  faults = Faults(skip=skip_bad)
  examples, total = examples_in(settings, source, faults)
  file = source if is_there(source) else ""
  found = predictions(model, settings, announced(examples), faults, file=file)
  predicted = ((example, abstaining.kept(prediction)) for example, prediction in found)
  _show(settings, predicted, place, write, total)
  report_faults(faults)


def _read(
  task: str, directory: Path, reading: ModelOptions, form: FileOptions, threshold: float | None
) -> tuple[ModelParts, Abstaining]:
  model, settings = reading.read(task, directory)
  abstaining = Abstaining(form.of(for_predictions(model, settings)), threshold)
  if threshold is not None:
    warn_of_scores(model, abstaining.task)
  return model, abstaining


@functools.lru_cache(maxsize=1)  # a process answers several shards
def _predictor(*read: Any) -> Answerer:
  return predictor(*_read(*read))


def is_corpus(sources: Sequence[str], output: str) -> bool:
  """Returns whether a command is given shards, or a folder for them."""
  (first, *others) = sources
  if others or output.endswith("/") or (output and Path(output).is_dir()):
    return True
  return is_there(first) and (Path(first).is_dir() or first.endswith(PACKED))


class Shards(NamedTuple):
  """Shards of a corpus, the folder for those with answers, and the models' directories."""

  sources: Sequence[str]
  output: str
  models: Sequence[Path]
  skip_bad: bool


def answer_shards(
  given: Shards, opened: Callable[[], Answerer], options: Sequence[object], engine: EngineOptions
) -> None:
  """Makes the shards of a corpus with answers, and prints how many.

  `options` decide on the answers, so that a folder with others is refused.
  """
  sources, output, models, skip_bad = given
  if missing := next((x for x in sources if not is_there(x)), None):
    raise InputError(f"{missing}: no such file; expected shards of a corpus, or a text in quotes")
  if not output or (Path(output).suffix and not output.endswith("/") and not Path(output).is_dir()):
    actual = f"{output}: a file" if output else "missing"
    raise InputError(f"--output: {actual}; expected a folder for the shards, such as answers/")
  begun, folder = time.monotonic(), Path(output).resolve()
  shards = tuple(shards_of(sources, folder).items())
  work = AnsweredShard(folder, shards, opened, skip_bad)
  done = answer_corpus(work, [*map(model_directory, models)], [*map(repr, options)], engine)
  took = f" in {time.monotonic() - begun:.0f} s" if done.fresh else ", made before"
  print(f"{output}: {done.counts['texts']:,} texts in {len(shards):,} shards{took}")
  if faulty := done.counts["faulty"]:
    print(f"{faulty:,} faulty rows are in the files *{FAULTY}")


def embed(
  directory: Annotated[Path, Positional, arg(metavar="MODEL")],
  sources: Annotated[tuple[str, ...], Positional, arg(metavar="SHARDS")],
  /,
  *,
  output: Annotated[str, arg(metavar="PATH")],
  pool: Pool = "mean",
  skip_bad: bool = False,
  engine: OmitArgPrefixes[EngineOptions],
) -> None:
  """Writes vectors of texts, or of the names in them.

  In the folder --output each shard becomes one with a column more: `vector`, or `vectors` of its
  spans, those of the column `spans`, or `prediction` as luke-jax predict writes it.

      luke-jax embed english corpus/ --output vectors/

  Args:
    directory: Directory or name of a model, or the folder of the run that made it.
    sources: Shards: Parquet, Arrow, .jsonl or .txt, also as .gz or .zst; or folders.
    output: Folder for the shards.
    pool: The mean of the states of a text's pieces, or the first; of a span the mean of its ends,
      or its entity.
    skip_bad: Writes rows that are faulty apart, and counts them.
  """
  opened = functools.partial(_embedder, directory, pool)
  answer_shards(Shards(sources, output, [directory], skip_bad), opened, (pool,), engine)


@functools.lru_cache(maxsize=1)
def _embedder(directory: Path, pool: Pool) -> Answerer:
  return embedder(read(model_directory(directory), backbone=backbone_of(directory)), pool)


def _show(
  settings: TextTask[Example, Prediction],
  predicted: Iterable[tuple[Example, Prediction]],
  output: Path | None,
  write: Callable[..., int],
  total: int | None,
) -> None:
  """Shows predictions in a terminal, or writes them to a file or as lines."""
  if output is None and sys.stdout.isatty():
    console = Console()
    for example, prediction in predicted:
      console.print(shown(example, prediction), soft_wrap=True)
  elif output is None:
    _write(settings, predicted, sys.stdout)
  else:
    with whole(output) as part, part.open("w", encoding="utf-8") as into:
      number = write(settings, counted(predicted, total), into)
    print(f"{output}: {number} predictions")


def examples_in(
  settings: TextTask[Example, Prediction], source: str, faults: Faults
) -> tuple[Iterable[Example], int | None]:
  """Returns the examples, one by one if they come in lines, and their number if it is known."""
  if source == STANDARD_INPUT:
    if isinstance(sys.stdin, io.TextIOWrapper):
      sys.stdin.reconfigure(encoding="utf-8", errors="strict")  # whatever encoding the terminal has
    name = "standard input"
    return _parsed(settings, lines_of(sys.stdin, name), name, faults), None
  expected = "a file of examples, a text or -"
  if not is_split(source) and not is_file_in(source, expected):
    if not source.strip():
      raise InputError(f"the text: no text; expected {expected}")
    return _parsed(settings, [(1, source)], "the text", faults), 1
  path = Path(source)
  if not is_split(source) and not path.is_file():  # a pipe, which can be read once
    return _parsed(settings, lines(path), source, faults), None
  if path.suffix in LINES:
    with path.open("rb") as file:
      total = sum(1 for _ in file)
    return _parsed(settings, lines(path), source, faults), total
  examples = read_examples(settings, source, faults)
  return examples, len(examples)


def announced(examples: Iterable[Example]) -> Iterator[Example]:
  """Yields examples, and says on stderr which texts are so long that they take a while."""
  for example in examples:
    if len(text := getattr(example, "text", "")) > LONG_TEXT:
      print(f"reading {len(text):,} characters", file=sys.stderr)
    yield example


def _parsed(
  settings: TextTask[Example, Any], numbered: Iterable[tuple[int, str]], where: str, faults: Faults
) -> Iterator[Example]:
  """Yields examples of lines of JSON or, for a task that needs nothing else, of plain texts."""

  def read(line: str, place: str) -> Mapping[str, Any]:
    if line.lstrip().startswith("{"):
      return json_object(line, place)
    if settings.fields:
      example = json.dumps({"text": SENTENCE, **settings.fields})
      raise InputError(f"{place}: a text alone; expected an object of JSON, such as {example}")
    return {"text": line}

  items = ((f"line {number}", line) for number, line in numbered if line.strip())
  return parse_items(items, where, settings.parse, faults, read)


def _write(settings: TextTask, predicted: Iterable[tuple[Any, Any]], file: TextIO) -> int:
  """Writes a line for each prediction, and returns the number of lines."""
  return write_lines((settings.to_prediction(*pair) for pair in predicted), file)


def write_lines(values: Iterable[Mapping[str, object]], file: TextIO) -> int:
  """Writes a line of JSON for each value, and returns the number of lines."""
  number = 0
  for value in values:
    file.write(json.dumps(value, ensure_ascii=False) + "\n")
    number += 1
  return number


def _writer(output: Path | None, task: TextTask) -> Callable[..., int]:
  """Returns the function that writes a file of predictions, by the end of its name."""
  if output is None:
    return _write
  if output.suffix == COLUMNS and task.answer is not Span:
    raise InputError(f"--output: {output}; expected another name: only names have columns")
  return {COLUMNS: _write_columns, PAGE: _write_page}.get(output.suffix, _write)


def _write_page(settings: TextTask, predicted: Iterable[tuple[Any, Any]], file: TextIO) -> int:
  """Writes a page of HTML with each text and its predictions, and returns their number."""
  file.write(f"{head(settings.name)}<style>{STYLE}</style>\n")
  number = 0
  for example, prediction in predicted:
    file.write(f"{pictured(example, prediction).boxed}\n")
    number += 1
  file.write(FOOT)
  return number


def _write_columns(_: TextTask, predicted: Iterable[tuple[Any, Any]], file: TextIO) -> int:
  """Writes words, gold tags if the examples came in columns, and predicted tags last."""
  pairs = list(predicted)
  examples = [x if x.lines else dataclasses.replace(x, spans=None) for x, _ in pairs]
  lines = to_columns(examples, [spans for _, spans in pairs])
  file.writelines(f"{line}\n" for line in lines)
  return len(pairs)
