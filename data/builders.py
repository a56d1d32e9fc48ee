"""Shared by the builders of this folder: columns, and the examples of original files in them."""

import dataclasses
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tensorflow_datasets as tfds

from luke_jax.errors import InputError
from luke_jax.tasks.known import task_class

# Of a field of a task's JSON lines. Lists of lists break TFDS where they are empty, so spans are
# columns of their own: spans_start, spans_end and, with labels, spans_label.
Kind = Literal["text", "texts", "span", "spans", "labelled spans"]
PARTS = {"spans": ("start", "end"), "labelled spans": ("start", "end", "label")}


@dataclasses.dataclass(frozen=True)
class Source:
  """The original files of a dataset, and what is known of them."""

  task: str  # whose reader reads the files
  fields: Mapping[str, Kind]
  files: Mapping[str, str]  # by split
  published: Mapping[str, int]  # how many of `unit` each split has by the papers
  homepage: str
  citation: str
  counted: Callable[[Any], int] = lambda example: 1
  unit: str = "examples"  # what is counted


def info(builder: Any) -> tfds.core.DatasetInfo:
  """Returns the dataset's description."""
  return tfds.core.DatasetInfo(
    builder=builder,
    description=inspect.cleandoc(builder.__doc__),
    features=tfds.features.FeaturesDict(columns(builder.SOURCE.fields)),
    homepage=builder.SOURCE.homepage,
    citation=builder.SOURCE.citation,
    disable_shuffling=True,  # as the files have them
  )


def split_generators(builder: Any, downloads: Any) -> dict[str, Iterator[tuple[int, dict]]]:
  """The examples of every split."""
  folder = Path(downloads.manual_dir)
  return {split: builder._generate_examples(folder, split) for split in builder.SOURCE.files}


def generate_examples(builder: Any, folder: Path, split: str) -> Iterator[tuple[int, dict]]:
  """The examples of a split, numbered. Tells if they are not as many as are published."""
  source = builder.SOURCE
  path = folder / source.files[split]
  task = task_class(source.task)()
  examples = task.read(path, builder.faults)
  count, published = sum(map(source.counted, examples)), source.published[split]
  if count != published:
    told = f"{path}: {count} {source.unit}; expected {published}, as published"
    warnings.warn(told, stacklevel=1)
  for number, example in enumerate(examples):
    yield number, row(task.to_json(example), source.fields, example.place)


def columns(fields: Mapping[str, Kind]) -> dict[str, Any]:
  """The columns of fields, as TFDS describes them."""
  text, texts = tfds.features.Text(), tfds.features.Sequence(tfds.features.Text())
  found: dict[str, Any] = {"id": text}
  for name, kind in fields.items():
    if kind in PARTS:
      numbers = tfds.features.Sequence(np.int32)
      found |= {f"{name}_{x}": texts if x == "label" else numbers for x in PARTS[kind]}
    else:
      span = tfds.features.Tensor(shape=(2,), dtype=np.int32)
      found[name] = {"text": text, "texts": texts, "span": span}[kind]
  return found


def row(value: Mapping[str, Any], fields: Mapping[str, Kind], place: str) -> dict[str, Any]:
  """Returns the columns' values in an object of JSON lines."""
  found = {"id": value["id"]}
  for name, kind in fields.items():
    if name not in value:
      raise InputError(f"{place}: {name}: missing; expected it in every example")
    if kind in PARTS:
      parts = enumerate(PARTS[kind])
      found |= {f"{name}_{part}": [span[i] for span in value[name]] for i, part in parts}
    else:
      found[name] = value[name]
  return found
