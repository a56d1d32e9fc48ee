"""`luke-jax triples`."""

import functools
import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from tyro.conf import OmitArgPrefixes, Positional, arg

from luke_jax.cli.predict import (
  STANDARD_INPUT,
  Shards,
  announced,
  answer_shards,
  examples_in,
  is_corpus,
  write_lines,
)
from luke_jax.cli.task_inputs import report_faults
from luke_jax.convert.parts import ModelParts
from luke_jax.convert.reading import read
from luke_jax.errors import InputError, at
from luke_jax.files import Path, check_place, whole
from luke_jax.formats.files import Faults
from luke_jax.inference.corpus import Answerer, extracting
from luke_jax.inference.settings import check_answer, task_of
from luke_jax.inference.triples import SHOWN, Extractor, MergedFact, Name, Triple, merged
from luke_jax.runs.models import backbone_of, model_directory
from luke_jax.tasks.facts.relations import meant
from luke_jax.tasks.labels.wordings import labels_in
from luke_jax.tasks.predictions import Fact, Link, Span
from luke_jax.wiki.stages.engines import EngineOptions

CHUNK = 64  # texts that are read together
OfText = tuple[str, str, list[Triple]]  # the id of a text, the text and its triples


def run(
  sources: Annotated[tuple[str, ...], Positional, arg(metavar="FILE|TEXT|-|SHARDS")] = (
    STANDARD_INPUT,
  ),
  /,
  *,
  output: Annotated[str, arg(metavar="PATH")] = "",
  names: Path = Path("english/ner"),
  facts: Path = Path("english/facts"),
  linker: Path | None = None,
  labels: str = "",
  relations: str = "",
  threshold: float | None = None,
  each: bool = False,
  skip_bad: bool = False,
  engine: OmitArgPrefixes[EngineOptions],
) -> None:
  """Finds how the names in texts are related, and prints facts as lines of JSON.

  A fact is a head, a relation and a tail, with every place that says so: names mean the same thing
  if a linker gives them one item or title, or else if they have the same words. All names of a text
  are read together, up to 512 word pieces from one another. What is less sure than nine in ten is
  left out, and counted.

      luke-jax triples "Ana Sousa, a daughter of Rui Sousa, was born in Porto."
      luke-jax triples texts.jsonl --relations "born in, works for" --output facts.jsonl
      luke-jax triples corpus/ --output answers/

  Several files or a folder are the shards of a corpus, as luke-jax predict reads them. In the
  folder --output each becomes a shard with a column more, `triples`, of what is sure enough.

  Args:
    sources: File of texts, a text, an object of JSON, or - for standard input; or shards.
    output: File for the facts. Of a corpus, a folder.
    names: Directory, name or run of a model that finds names.
    facts: Directory, name or run of a model of facts.
    linker: Directory or run of a model that says what names mean.
    labels: For a model with labels at run time: those of the names to look for.
    relations: Those to look for, by their names or in other words such as "born in, works for".
    threshold: Least score of a fact; without it, that from which nine in ten are right.
    each: Prints the triples of each text as they are found, instead of facts at the end.
    skip_bad: Leaves out texts that are faulty, and counts them.
  """
  if threshold is not None and not 0 <= threshold <= 1:
    raise InputError(f"--threshold: {threshold:g}; expected a number from 0 to 1")
  asked = (names, facts, linker, labels, relations, threshold)
  if is_corpus(sources, output):
    if each:
      raise InputError("--each: of a corpus, whose texts have their triples; expected none")
    models = [facts, names, *([linker] if linker else [])]
    opened, options = functools.partial(_opened, *asked), (labels, relations, threshold)
    answer_shards(Shards(sources, output, models, skip_bad), opened, options, engine)
    return
  place = Path(output) if output else None
  if place:
    check_place(place)
  extractor = _extractor(*asked)
  least, faults = Least(_least(extractor, threshold)), Faults(skip=skip_bad)
  examples, _ = examples_in(task_of(extractor.names), sources[0], faults)
  found, single = least.kept(_found(extractor, announced(examples))), extractor.task.single
  values = _triples(found) if each else _facts(found, single)
  if place is None:
    number = write_lines(values, sys.stdout)
  else:
    with whole(place) as part, part.open("w", encoding="utf-8") as file:
      number = write_lines(values, file)
    print(f"{output}: {number} {'triples' if each else 'facts'}")
  if not number and not least.left_out:
    of = " of these relations" if relations else ""
    print(f"no facts{of} between the names that were found", file=sys.stderr)
  if least.left_out and threshold is None:
    rest = f"{least.left_out:,} less sure than {least.score:.2f} are left out"
    print(f"{rest}; --threshold {SHOWN} shows them", file=sys.stderr)
  report_faults(faults)


def _least(extractor: Extractor, threshold: float | None) -> float:
  return extractor.sure if threshold is None else threshold


@functools.lru_cache(maxsize=1)  # a process answers several shards
def _opened(*asked: Any) -> Answerer:
  extractor = _extractor(*asked)
  return extracting(extractor, _least(extractor, asked[-1]))


class Least:
  """The least score of what is shown, and how much is left out."""

  def __init__(self, score: float) -> None:
    self.score, self.left_out = score, 0

  def kept(self, found: Iterator[OfText]) -> Iterator[OfText]:
    """Yields texts with those of their triples that are sure enough."""
    for id, text, triples in found:
      sure = [x for x in triples if x.score >= self.score]
      self.left_out += len(triples) - len(sure)
      yield id, text, sure


def _extractor(
  names: Path,
  facts: Path,
  linker: Path | None,
  labels: str,
  relations: str,
  threshold: float | None,
) -> Extractor:
  """Reads the models, each of which has to be of its task."""
  finder = _read(names, Span, "--names")
  of_facts = _read(facts, Fact, "--facts")
  linking = None if linker is None else _read(linker, Link, "--linker")
  asked = labels_in(labels) if labels else None
  if asked is None:
    with at(f"--names {names}"):
      task_of(finder).asked_of(None)
  least = SHOWN if threshold is None else min(SHOWN, threshold)
  extractor = Extractor(finder, of_facts, linking, asked, least)
  if relations.strip():
    extractor = extractor._replace(relations=meant(labels_in(relations), extractor.task.labels))
  return extractor


def _read(directory: Path, answer: type, option: str) -> ModelParts:
  model = read(model_directory(directory), backbone=backbone_of(directory))
  with at(f"{option}: {directory}"):
    check_answer(model, answer)
  return model


def _found(extractor: Extractor, examples: Iterator[Any]) -> Iterator[OfText]:
  """Yields the id of each text, the text and its triples."""
  while chunk := list(itertools.islice(examples, CHUNK)):
    texts = [example.text for example in chunk]
    for example, triples in zip(chunk, extractor.triples(texts), strict=True):
      yield example.id, example.text, triples


def _triples(found: Iterator[OfText]) -> Iterator[dict[str, Any]]:
  for id, text, triples in found:
    for triple in triples:
      yield {**_named(triple), **_place(id, text, triple)}


def _facts(found: Iterator[OfText], single: Sequence[str]) -> Iterator[dict[str, Any]]:
  texts: dict[str, str] = {}
  kept = []
  for id, text, triples in found:
    if triples:
      texts[id] = text
      kept.append((id, triples))
  for fact in merged(kept, single):
    evidence = [_place(x.id, texts[x.id], x.triple) for x in fact.evidence]
    against = {"against": list(fact.against)} if fact.against else {}
    yield {**_named(fact), "score": round(fact.score, 4), **against, "evidence": evidence}


def _named(fact: Triple | MergedFact) -> dict[str, Any]:
  return {"head": _thing(fact.head), "relation": fact.relation, "tail": _thing(fact.tail)}


def _thing(name: Name) -> dict[str, Any]:
  meant = {"title": name.title, "item": name.item}
  return {"name": name.text, "label": name.label} | {k: x for k, x in meant.items() if x}


def _place(id: str, text: str, triple: Triple) -> dict[str, Any]:
  start, end = triple.sentence
  spans = {"head_span": [*triple.head[1:3]], "tail_span": [*triple.tail[1:3]]}
  return {"id": id, **spans, "sentence": text[start:end].strip(), "score": round(triple.score, 4)}
