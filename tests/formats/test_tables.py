"""Parquet, Arrow and folders of Hugging Face's datasets as files of examples."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.formats.records import sources_of
from luke_jax.formats.shards import read_table
from luke_jax.tasks.known import task_class
from luke_jax.tasks.running import read_examples

TAGS = {"feature": {"names": ["O", "B-PER"], "_type": "ClassLabel"}, "_type": "Sequence"}
LABEL = {"names": ["no", "yes"], "_type": "ClassLabel"}


def table(rows, **features):
  made = pa.Table.from_pylist(rows)
  return made.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})


def read(task, setting):
  return read_examples(task_class(task)(), str(setting), Faults())


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_tags_that_are_numbers_have_the_names_of_the_file(name, tmp_path):
  made = table([{"tokens": ["Ana", "sings"], "ner_tags": [1, 0]}], ner_tags=TAGS)
  if name.endswith("parquet"):
    pq.write_table(made, tmp_path / name)
  else:
    with pa.OSFile(str(tmp_path / name), "wb") as file, pa.ipc.new_stream(file, made.schema) as out:
      out.write_table(made)
  (example,) = read("ner", tmp_path / name)
  assert [(example.text[x.start : x.end], x.label) for x in example.spans] == [("Ana", "PER")]
  assert [x.text for x in read("ner", tmp_path)] == [example.text]  # the folder of `save_to_disk`


def test_texts_and_pairs_are_read_as_lines_are(tmp_path):
  pq.write_table(table([{"text": "good", "label": 1}], label=LABEL), tmp_path / "a.parquet")
  (example,) = read("classification", tmp_path / "a.parquet")
  assert example.labels == ("yes",)
  pq.write_table(table([{"text": "Ana", "span": [0, 3], "labels": ["x"]}]), tmp_path / "b.parquet")
  pq.write_table(table([{"text": "Ana", "span": [0, 9], "labels": ["x"]}]), tmp_path / "c.parquet")
  (example,) = read("typing", tmp_path / "b.parquet")
  assert example.labels == ("x",)
  with pytest.raises(InputError, match=r"c.parquet: row 1: "):
    read("typing", tmp_path / "c.parquet")


def test_what_is_no_table_is_refused(tmp_path):
  (tmp_path / "a.parquet").write_text("PAR1")
  (tmp_path / "a.arrow").write_text("ARROW")
  for name in ("a.parquet", "a.arrow"):
    with pytest.raises(InputError, match=rf"{name}: .*; expected a table as its name says"):
      read_table(Path(tmp_path / name))


def test_sources_are_one_file_or_several(tmp_path):
  (tmp_path / "a,b.jsonl").write_text("{}")
  assert sources_of(str(tmp_path / "a,b.jsonl")) == (str(tmp_path / "a,b.jsonl"),)
  assert sources_of("a.jsonl,b.jsonl") == ("a.jsonl", "b.jsonl")


def test_a_folder_of_several_splits_is_refused(tmp_path):
  for name in ("train-00000-of-00002", "train-00001-of-00002-ab"):
    (tmp_path / f"{name}.parquet").touch()
  assert len(sources_of(str(tmp_path))) == 2
  (tmp_path / "test-00000-of-00001.parquet").touch()
  with pytest.raises(InputError, match="tables of test, train; expected the files of one of them"):
    sources_of(str(tmp_path))
  (tmp_path / "saved" / "train").mkdir(parents=True)
  (tmp_path / "saved" / "train" / "dataset_info.json").touch()
  with pytest.raises(InputError, match=r"several data sets; expected one of .*saved/train"):
    sources_of(str(tmp_path / "saved"))
