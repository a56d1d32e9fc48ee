"""SemEval-2010 Task 8, as KnowPrompt published it, from random parameters."""

import dataclasses
import itertools
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from marked_tasks import experiment, learned
from networks import backbone

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.relations.files import read
from luke_jax.tasks.relations.score import score
from luke_jax.tasks.relations.task import RelationClassification
from luke_jax.tasks.running import checked, processor_for
from luke_jax.training.optimizer import Optimizer

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def task(real_data):
  files = real_data / "semeval2010_task8"
  numbers = json.loads((files / "rel2id.json").read_text())
  return RelationClassification(
    train=str(files / "train.txt"),
    dev=str(files / "test.txt"),
    text=str(real_data / "tokenizers/roberta"),
    labels=tuple(sorted(numbers, key=numbers.get)),
    words=64,
    mention=12,
  )


def test_the_files_are_read_whole(task, real_data):
  splits = {
    name: read(real_data / f"semeval2010_task8/{name}.txt", Faults())
    for name in ("train", "val", "test")
  }
  assert {name: len(examples) for name, examples in splits.items()} == {
    "train": 6507,
    "val": 1493,
    "test": 2717,
  }
  assert task.labels[0] == "Other" and len(task.labels) == 19
  everything = list(itertools.chain(*splits.values()))
  assert set(task.found_labels(everything)) == set(task.labels)
  for example in everything:
    assert all(example.text[slice(*span)].strip() for span in (example.head, example.tail))
  counts = Counter(example.label for example in splits["test"])
  assert counts["Other"] == 454 and counts["Entity-Destination(e1,e2)"] == 291


def test_a_label_that_training_never_saw_is_told(task):
  seen = dataclasses.replace(task, labels=task.found_labels(task.read(Path(task.train), Faults())))
  with pytest.raises(InputError, match=r"line \d+: label 'Entity-Destination\(e2,e1\)': not among"):
    checked(seen, task.read(Path(task.dev), Faults()), Faults())


def test_the_names_in_the_files_stand_between_the_markers(task):
  processor = processor_for(task, backbone())
  examples = task.read(Path(task.train), Faults())[:500]
  for example, row in zip(examples, task.features(processor, examples), strict=True):
    for span, (start, end) in zip((example.head, example.tail), row.entity_tokens, strict=True):
      inside = processor.tokenizer.decode(row.input_ids[start + 1 : end - 1])
      assert inside.strip() == example.text[slice(*span)]


@pytest.mark.slow
def test_it_is_learned_far_above_the_majority(task):
  chosen = experiment(
    task, hidden_size=128, intermediate_size=512, entity_emb_size=128, num_attention_heads=4
  )
  chosen = dataclasses.replace(
    chosen,
    data=Data(batch_size=32, evaluation_batch_size=64),
    optimizer=Optimizer(learning_rate=1e-3, frozen=("luke/pooler",)),
  )
  losses, found = learned(chosen, steps=400)
  print({name: round(value, 4) for name, value in found.items()})
  assert np.mean(losses[-50:]) < 0.75 * np.mean(losses[:50])
  gold = [example.label for example in task.engine().records(chosen.backbone, "dev").examples]
  always = [score(gold, [label] * len(gold)) for label in task.labels]
  for name in ("semeval_macro_f1", "f1", "accuracy"):
    assert found[name] > 0.2 + max(scores[name] for scores in always)
