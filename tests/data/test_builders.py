"""The builders of datasets on their invented files: what is stored is what the readers read."""

import contextlib
import dataclasses
import importlib
import io
import json
import re
import shutil
from pathlib import Path

import pytest
import tensorflow_datasets as tfds

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.tasks.known import task_class
from luke_jax.tasks.running import read_examples

DATA = Path(__file__).resolve().parents[2] / "data"
NAMES = ("open_entity", "tacred", "conll2003", "record", "squad")
NEWEST = "1.0.0"


def builder_class(name):
  module = importlib.import_module(f"data.{name}.{name}")
  return getattr(module, name.title().replace("_", ""))


def build(name, output, files):
  builder = builder_class(name)(data_dir=output, file_format="array_record")
  config = tfds.download.DownloadConfig(manual_dir=files)
  with contextlib.redirect_stdout(io.StringIO()):
    builder.download_and_prepare(download_dir=output / "downloads", download_config=config)
  return builder


@pytest.fixture(autouse=True)
def quiet():
  tfds.disable_progress_bar()


@pytest.mark.parametrize("name", NAMES)
def test_stored_examples_are_those_of_the_files(name, tmp_path):
  source, files = builder_class(name).SOURCE, DATA / name / "dummy_data"
  with pytest.warns(UserWarning, match="; expected [0-9]+, as published") as told:
    build(name, tmp_path, files)
  assert len(told) == len(source.files)
  task = task_class(source.task)()
  for split, file in source.files.items():
    read = read_examples(task, f"{tmp_path}/{name}/{NEWEST}:{split}", Faults())
    expected = task.read(files / file, Faults())
    assert list(map(task.to_json, read)) == list(map(task.to_json, expected)) != []
    assert read[0].place == f"{tmp_path}/{name}/{NEWEST}:{split}: example 1"


@pytest.mark.parametrize("name", NAMES)
def test_published_counts_are_those_of_the_readme(name):
  readme = (DATA / name / "README.md").read_text(encoding="utf-8")
  source = builder_class(name).SOURCE
  table = re.findall(r"^\| (train|dev|test) \| (\S+) \| ([0-9,]+) ", readme, re.MULTILINE)
  assert {split: file for split, file, _ in table} == source.files
  assert {split: int(count.replace(",", "")) for split, _, count in table} == source.published
  for part in ("**Files.**", "**Licence.**", "**Columns.**", "**Citation.**"):
    assert part in readme
  assert f"python -m data.build {name} --manual-dir" in readme


def test_as_many_as_published_warn_of_nothing(tmp_path, monkeypatch):
  published = builder_class("conll2003").SOURCE.published
  # A document's line of -DOCSTART- is one by the papers.
  for split, count in {"train": 5, "dev": 2, "test": 3}.items():
    monkeypatch.setitem(published, split, count)
  builder = build("conll2003", tmp_path, DATA / "conll2003/dummy_data")
  assert builder.info.splits["train"].num_examples == 2


def test_a_faulty_file_is_one_line_and_leaves_no_dataset(tmp_path):
  files = tmp_path / "files"
  shutil.copytree(DATA / "record/dummy_data", files)
  value = json.loads((files / "dev.json").read_text())
  value["data"][0]["passage"]["entities"][0]["end"] = 999
  (files / "dev.json").write_text(json.dumps(value))
  with (
    pytest.warns(UserWarning, match="expected 100730"),
    pytest.raises(InputError, match=r"passage 1, question p3-q1: entities: \[4, 1000\]"),
  ):
    build("record", tmp_path, files)
  assert not list(tmp_path.glob("record/*"))


@pytest.mark.real_data
def test_the_development_set_of_squad_is_whole(real_data, tmp_path, monkeypatch):
  files = real_data / "squad"
  cls = builder_class("squad")
  only_dev = dataclasses.replace(cls.SOURCE, files={"dev": cls.SOURCE.files["dev"]})
  monkeypatch.setattr(cls, "SOURCE", only_dev)
  build("squad", tmp_path, files)  # as many questions as published, or it would warn
  found = read_examples(task_class("qa")(), f"{tmp_path}/squad/{NEWEST}:dev", Faults())
  read = task_class("qa")().read(files / "dev-v1.1.json", Faults())
  assert [x.answers for x in found] == [x.answers for x in read]
