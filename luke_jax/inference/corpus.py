"""A corpus: shards of texts in, shards with answers out, each whole or not at all."""

import contextlib
import dataclasses
import hashlib
import itertools
import json
import typing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from luke_jax import __version__
from luke_jax.convert.parts import ModelParts
from luke_jax.errors import InputError
from luke_jax.files import Path, in_bucket, is_part, sample, sizes, whole
from luke_jax.files.locks import locked
from luke_jax.formats.files import Faults, Text, json_object, of_corpus, read_text
from luke_jax.formats.shards import (
  FORMS,
  Shard,
  plain,
  rows_and_faults,
  schema_with,
  shards_in,
  written,
)
from luke_jax.inference.batches import CompiledShapes, compiled_shapes, on_all_devices
from luke_jax.inference.predicting import Abstaining, predictions
from luke_jax.inference.settings import task_of
from luke_jax.inference.text_vectors import OF_SPANS, Pool, vectors_of
from luke_jax.inference.triples import Extractor, Triple
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.predictions import Number
from luke_jax.text import TextInput
from luke_jax.text.tokenizer import Bounds
from luke_jax.wiki.stages.engines import EngineOptions
from luke_jax.wiki.stages.progress import StageProgress
from luke_jax.wiki.stages.stage import BEGUN, NOTES, PARTLY, Done, Stage, check_same

ROWS = 4096  # that are in memory together, and sorted by length
FAULTY = ".faulty.jsonl"  # after the name of a shard: its faulty rows
# Columns that have answers where people gave some.
_GIVEN = {"label", "labels", "spans", "answers", "facts", "ner_tags", "tags", "entities", "ents"}


class Answerer(NamedTuple):
  """A model at work on a corpus: the column that it fills, its type, and how rows are read."""

  column: str
  kind: Any
  model: ModelParts
  parse: Callable[[Mapping[str, Any], str, str], Any]
  answer: Callable[[Sequence[Any], Faults, CompiledShapes], Iterable[Any]]
  unread: frozenset[str] = frozenset()


def predictor(model: ModelParts, abstaining: Abstaining) -> Answerer:
  """Returns what gives texts the predictions of a task, in lists of what has names and scores."""
  task, model = abstaining.task, on_all_devices(model)

  def answer(examples: Sequence[Any], faults: Faults, shapes: CompiledShapes) -> Iterator[Any]:
    for example, found in predictions(model, task, examples, faults, shapes=shapes):
      yield _listed(task, example, abstaining.kept(found))

  unread = frozenset(_GIVEN - task.fields.keys())
  return Answerer("prediction", _kind(task), model, task.parse, answer, unread)


def _kind(task: TextTask) -> Any:
  """Returns the type of a task's answers; a text of JSON for a task that does not say one."""
  answer = task.answer
  if answer is not None and dataclasses.is_dataclass(answer):  # a list with more beside it
    answer = typing.get_args(typing.get_type_hints(answer)[dataclasses.fields(answer)[0].name])[0]
  return list[answer] if answer else str


def _listed(task: TextTask, example: Any, found: Any) -> Any:
  if task.answer is None:
    return json.dumps(task.to_prediction(example, found), ensure_ascii=False)
  if isinstance(found, Number):
    return [{"label": None, "score": found.value}]
  return [found] if isinstance(found, tuple) else list(found)


def extracting(extractor: Extractor, least: float) -> Answerer:
  """Returns what gives texts their triples of a score or more."""
  assert extractor.facts is not None

  def answer(examples: Sequence[Any], _: Faults, shapes: CompiledShapes) -> Iterator[list[Triple]]:
    for triples in extractor._replace(shapes=shapes).triples([x.text for x in examples]):
      yield [x for x in triples if x.score >= least]

  parse = task_of(extractor.names).parse
  return Answerer("triples", list[Triple], extractor.facts, parse, answer, frozenset(_GIVEN))


def embedder(model: ModelParts, pool: Pool) -> Answerer:
  """Returns what gives texts their vectors, or those of their `spans` or their `prediction`."""
  of_spans = pool in OF_SPANS

  def parse(value: Mapping[str, Any], id: str, place: str) -> tuple[str, TextInput]:
    text = read_text(value, place)
    if not of_spans:
      return place, TextInput(text.text)
    spans = value.get("spans", value.get("prediction"))
    if not isinstance(spans, list):
      raise InputError(f"{place}: no spans; expected a list of them, or of what predict finds")
    return place, TextInput(text.text, [_span(text, x) for x in spans])

  def answer(inputs: Sequence[Any], faults: Faults, shapes: CompiledShapes) -> Iterable[Any]:
    return vectors_of(model, dict(inputs), pool, shapes, faults)

  name, kind = ("vectors", list[list[np.float32]]) if of_spans else ("vector", list[np.float32])
  return Answerer(name, kind, model, parse, answer)


def _span(text: Text, value: Any) -> Bounds:
  """Returns the characters of a span of a file, or of an answer, which always has characters."""
  if isinstance(value, dict):
    return text._replace(tokens=None).span([value.get("start"), value.get("end")], "spans")
  return text.span(value[:2] if isinstance(value, list) else value, "spans")


def shards_of(sources: Sequence[str], output: Path) -> dict[str, Shard]:
  """Returns the shards of a corpus, given or in given folders, by the names of those to be made.

  What is in `output` is none.
  """
  files: dict[tuple[str, ...], dict[str, Shard]] = {}
  inside = _place(output)
  for source in sources:
    path = Path(source)
    below = [path]
    if path.is_dir():
      if (path / BEGUN).exists():
        raise InputError(f"{path}: not finished; expected the command that makes it to end first")
      shown = (x for x in sizes(path) if "/." not in f"/{x}" and FAULTY not in x)
      below = [path / x for x in shown if not is_part(path / x)]
      below = [x for x in below if _real(x)[: len(inside)] != inside]
    shards = {_place(x): found for x in below if (found := shards_in(x))}
    if not shards:
      raise InputError(f"{source}: no shards; expected files of {FORMS}")
    files |= shards
  columns = zip(*(place[:-1] for place in files), strict=False)
  shared = sum(1 for _ in itertools.takewhile(lambda x: len(set(x)) == 1, columns))
  names: dict[str, Shard] = {}
  for place, shards in sorted(files.items()):
    for file, shard in shards.items():
      name = "/".join([*place[shared:-1], file])
      if name in names or place[shared] == NOTES:
        other = names[name].path if name in names else "what the command notes"
        raise InputError(
          f"{shard.path}: its answers and {other} would be one; expected another name"
        )
      names[name] = shard
  return names


def _place(path: Path) -> tuple[str, ...]:
  """Returns the parts of a whole path; a link is itself, not what it leads to."""
  return (path if in_bucket(path) else path.absolute()).parts


def _real(path: Path) -> tuple[str, ...]:
  """Returns the parts of a path that links do not change."""
  return (path if in_bucket(path) else path.resolve()).parts


@dataclasses.dataclass(frozen=True)
class AnsweredShard:
  """The function of a shard: writes its rows with their answers, and the faulty ones apart."""

  folder: Path
  shards: Sequence[tuple[str, Shard]]  # names and sources
  opened: Callable[[], Answerer]
  skip_bad: bool

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes the shard, and returns how many rows have answers and how many are faulty."""
    (name, source), opened = self.shards[shard], self.opened()
    reading, path = rows_and_faults(source), self.folder / name
    schema = schema_with(source.path, opened.column, opened.kind, broken=self.skip_bad)
    # Of its own, so that no other shard decides on padding.
    shapes = compiled_shapes(opened.model.config, len(self.shards))
    counts = Counter(texts=0, faulty=0)
    if not in_bucket(path):
      path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
      write, add = stack.enter_context(written(stack.enter_context(whole(path)), schema)), None
      while chunk := list(itertools.islice(reading, ROWS)):
        good, bad = self._answered(chunk, opened, shapes)
        write(good)
        if bad:
          faulty = path.with_name(path.name + FAULTY)
          add = add or stack.enter_context(written(stack.enter_context(whole(faulty))))
          add(bad)
        counts.update(texts=len(good), faulty=len(bad))
        with contextlib.suppress(OSError):  # a display's; not in buckets
          (self.folder / NOTES / f"{shard}.{PARTLY}").write_text(json.dumps(counts))
    return counts

  def _answered(
    self, chunk: Sequence[tuple[str, Any]], opened: Answerer, shapes: CompiledShapes
  ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Returns rows with their answers, and those with faults."""
    examples, read, good, bad = [], [], [], []
    for place, row in chunk:
      try:
        if isinstance(row, InputError):
          raise row
        value = json_object(row, place) if isinstance(row, str) else row
        if opened.column in value:
          raise InputError(f"{place}: has a column {opened.column}; expected it under another name")
        examples.append(of_corpus(value, opened.parse, opened.unread, place))
        read.append((place, value))
      except InputError as fault:
        if not self.skip_bad:
          raise InputError(f"{fault}; --skip-bad leaves it out") from None
        bad.append({"fault": str(fault), "row": None if isinstance(row, InputError) else row})
    faults = Faults(skip=self.skip_bad)
    answers = opened.answer(examples, faults, shapes)
    for (place, row), found in zip(read, answers, strict=True):
      fault = next((str(x) for x in faults.found if str(x).startswith(f"{place}:")), None)
      if fault:
        bad.append({"fault": fault, "row": row})
      else:
        good.append({**row, opened.column: plain(found)})
    return good, bad


def answer_corpus(
  work: AnsweredShard, models: Sequence[Path], options: Sequence[object], engine: EngineOptions
) -> Done:
  """Makes the shards that are not there yet; raises InputError where others were begun."""
  work.opened()  # so that what is wrong with a model or an option is said at once
  if engine.workers > 1 and engine.engine == "local" and jax.default_backend() != "cpu":
    raise InputError(f"--workers: {engine.workers} on a {jax.default_backend()}; expected 1")
  digests = {path: _digest(path) for path in {source.path for _, source in work.shards}}
  files = {name: digests[source.path] for name, source in work.shards}
  state = {
    f"{number}/{name}" if number else name: _digest(model / name)
    for number, model in enumerate(models)
    for name in sizes(model)
  }
  made_of = {"files": files, "model": state, "options": options, "version": __version__}
  stage = Stage(work.folder, len(work.shards), work, made_of, by_shard="files")
  with locked(work.folder), engine.opened() as run, StageProgress() as progress:
    check_same(stage)
    return progress.finish(stage, run)


def _digest(path: Path) -> str:
  return hashlib.sha256(sample(path)).hexdigest()
