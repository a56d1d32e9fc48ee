"""Splits of datasets as the objects of JSON lines."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.errors import InputError
from luke_jax.formats.datasets import as_json, is_split, read_dataset
from luke_jax.formats.files import Faults
from luke_jax.tasks.cloze.task import ClozeAnswering
from luke_jax.tasks.running import read_examples

numbers = st.integers(0, 2**31 - 1)
labelled = st.lists(st.tuples(numbers, numbers, st.text()))


def stored(values):
  """As TFDS gives columns back: of numbers an array or a list, of texts a list of bytes."""
  if isinstance(values, str):
    return values.encode()
  if values and isinstance(values[0], str):
    return [value.encode() for value in values]
  return np.array(values, np.int32) if len(values) % 2 else [np.int32(x) for x in values]


@given(st.text(), st.tuples(numbers, numbers), st.lists(st.text()), labelled)
def test_columns_become_objects(text, span, labels, spans):
  starts, ends, names = ([part[i] for part in spans] for i in range(3))
  row = {
    "text": stored(text),
    "span": stored(list(span)),
    "labels": stored(labels),
    "entities_start": stored(starts),
    "entities_end": stored(ends),
    "spans_start": stored(starts),
    "spans_end": stored(ends),
    "spans_label": stored(names),
  }
  value = as_json(row)
  assert value == {
    "text": text,
    "span": list(span),
    "labels": labels,
    "entities": [[start, end] for start, end, _ in spans],
    "spans": list(map(list, spans)),
  }
  assert all(type(x) is int for start_end in value["entities"] for x in start_end)


def test_what_is_no_split_is_a_file(tmp_path):
  (tmp_path / "dataset_info.json").write_text("{}")
  assert is_split(f"{tmp_path}:train")
  assert not is_split(str(tmp_path)) and not is_split(f"{tmp_path}/gone:train")
  with pytest.raises(InputError, match="gone:train: no such file; expected a file of examples"):
    read_examples(ClozeAnswering(), f"{tmp_path}/gone:train", Faults())


def test_features_of_another_module_are_not_imported(tmp_path, monkeypatch):
  (tmp_path / "harmful.py").write_text("raise SystemExit")
  monkeypatch.syspath_prepend(tmp_path)
  (tmp_path / "dataset_info.json").write_text("{}")
  inner = {"pythonClassName": "tensorflow_datasets.core.features.text_feature.Text"}
  features = {**inner, "featuresDict": {"features": [inner, {"pythonClassName": "harmful.Text"}]}}
  (tmp_path / "features.json").write_text(json.dumps(features))
  with pytest.raises(
    InputError, match=r"'harmful\.Text'; expected features of tensorflow_datasets"
  ):
    list(read_dataset(f"{tmp_path}:train", lambda *_: None, Faults()))
