"""Examples in memory as files, whatever holds them."""

import json

import pytest

from luke_jax.runs.training import examples_file, train_and_dev

ROWS = [{"text": "Ana sings.", "label": "verb"}, {"text": "A red ship.", "label": "noun"}]


def lines(file):
  return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_dictionary_of_data_sets_has_both(tmp_path):
  both = {"train": ROWS, "validation": ROWS[:1]}
  assert train_and_dev(both, None) == (ROWS, ROWS[:1])
  assert train_and_dev(both, ROWS[1:]) == (ROWS, ROWS[1:])
  assert train_and_dev({"train": ROWS, "test": []}, None) == (ROWS, None)
  assert train_and_dev(ROWS, None) == (ROWS, None)


@pytest.mark.slow
def test_data_sets_of_hugging_face_have_labels_by_their_names(tmp_path):
  datasets = pytest.importorskip("datasets")
  names = datasets.ClassLabel(names=["noun", "verb"])
  features = datasets.Features({"text": datasets.Value("string"), "label": names})
  numbered = [{**row, "label": names.str2int(row["label"])} for row in ROWS]
  made = datasets.Dataset.from_list(numbered, features=features)
  train, dev = train_and_dev(datasets.DatasetDict(train=made, validation=made.select([1])), None)
  assert lines(examples_file(train, tmp_path / "train.jsonl")) == ROWS
  assert lines(examples_file(dev, tmp_path / "dev.jsonl")) == ROWS[1:]
  tags = datasets.Features(
    {"words": datasets.List(datasets.Value("string")), "tags": datasets.List(names)}
  )
  tagged = datasets.Dataset.from_list([{"words": ["a", "b"], "tags": [0, 1]}], features=tags)
  expected = [{"words": ["a", "b"], "tags": ["noun", "verb"]}]
  assert lines(examples_file(tagged, tmp_path / "tags.jsonl")) == expected
  assert lines(examples_file(made.to_iterable_dataset(), tmp_path / "streamed.jsonl")) == ROWS
