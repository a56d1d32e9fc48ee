"""Examples in memory as files, whatever holds them."""

import json

import pytest

from luke_jax.errors import InputError
from luke_jax.runs.training import examples_file, fine_tune, train_and_dev

ROWS = [{"text": "Ana sings.", "label": "verb"}, {"text": "A red ship.", "label": "noun"}]


def lines(file):
  return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_dictionary_of_data_sets_has_both(tmp_path):
  both = {"train": ROWS, "validation": ROWS[:1]}
  assert train_and_dev(both, None) == (ROWS, ROWS[:1])
  assert train_and_dev(both, ROWS[1:]) == (ROWS, ROWS[1:])
  assert train_and_dev({"train": ROWS, "test": []}, None) == (ROWS, None)
  assert train_and_dev(ROWS, None) == (ROWS, None)


@pytest.mark.parametrize(
  ("task", "train", "dev", "fault"),
  [
    (
      "classification",
      [{"text": "good"}],
      None,
      "train: example 1: label: missing; expected label",
    ),
    (
      "relations",
      [{"text": "a b", "head": "a"}],
      None,
      "train: example 1: tail: missing; expected",
    ),
    (
      "qa",
      [{"text": "a", "question": "?", "answers": ["a"]}],
      [{"text": 1}],
      "dev: example 1: text",
    ),
    (
      "typing",
      [{"text": "a", "span": "a", "labels": ["x"]}, {}],
      None,
      "train: example 2: no text",
    ),
  ],
)
def test_faults_name_the_example_and_no_file(task, train, dev, fault):
  with pytest.raises(InputError) as found:
    fine_tune(task, "data/sample_model", train=train, dev=dev)
  assert str(found.value).startswith(fault)


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
