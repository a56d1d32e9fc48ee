"""All of WNUT-17 and CrossNER: counts as published, and rows that miss no entity."""

import dataclasses
import json
import warnings

import numpy as np
import pytest
from marked_tasks import experiment, learned, with_labels

from luke_jax.formats.files import Faults
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.ner.files import parse, read, to_columns, to_json
from luke_jax.tasks.ner.score import read_predictions, score_file
from luke_jax.tasks.ner.tags import SCHEMES
from luke_jax.tasks.ner.task import NamedEntities
from luke_jax.tasks.predictions import Span
from luke_jax.tasks.running import checked, fitted
from luke_jax.text import Processor, load_tokenizer
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES

pytestmark = pytest.mark.real_data

# Sentences, entities, and entities of more than 16 words.
FILES = {
  "wnut17/wnut17train.conll": (3394, 1975, 0),
  "wnut17/emerging.dev.conll": (1009, 836, 0),
  "wnut17/emerging.test.annotated": (1287, 1079, 1),
  "crossner/ai/train.txt": (100, 532, 0),
  "crossner/ai/dev.txt": (350, 1549, 0),
  "crossner/ai/test.txt": (431, 1809, 0),
  "crossner/literature/train.txt": (100, 541, 0),
  "crossner/literature/dev.txt": (400, 2130, 1),
  "crossner/literature/test.txt": (416, 2266, 0),
  "crossner/music/train.txt": (100, 648, 0),
  "crossner/music/dev.txt": (380, 2679, 0),
  "crossner/music/test.txt": (465, 3336, 0),
  "crossner/politics/train.txt": (200, 1304, 0),
  "crossner/politics/dev.txt": (541, 3482, 0),
  "crossner/politics/test.txt": (651, 4209, 0),
  "crossner/science/train.txt": (200, 1075, 0),
  "crossner/science/dev.txt": (450, 2538, 0),
  "crossner/science/test.txt": (543, 3089, 0),
}


@pytest.fixture(scope="module")
def processor(real_data):
  return Processor(load_tokenizer(real_data / "tokenizers/roberta"), SPECIAL_ENTITIES)


@pytest.mark.parametrize("name", FILES)
def test_files(real_data, processor, name, tmp_path):
  sentences, entities, longer = FILES[name]
  task = NamedEntities()
  examples = task.read(real_data / name, Faults())
  spans = [span for example in examples for span in example.spans]
  assert (len(examples), len(spans)) == (sentences, entities)
  assert [parse(to_json(x), x.id, x.place).spans for x in examples] == [x.spans for x in examples]
  task = dataclasses.replace(task, labels=task.found_labels(examples))
  with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    rows = task.features(fitted(task, processor), checked(task, examples, Faults()))
  assert sum(np.count_nonzero(row.labels) for row in rows) == entities - longer
  assert len(told) == bool(longer)


def test_gold_against_gold(real_data, tmp_path):
  examples = read(real_data / "wnut17/emerging.test.annotated", Faults())
  gold = [[Span("", *span, 1.0) for span in example.spans] for example in examples]
  for scheme in SCHEMES:
    path = tmp_path / scheme
    path.write_text("\n".join(to_columns(examples, gold, scheme)), encoding="utf-8")
    assert score_file(examples, read_predictions(path, Faults()))["f1"] == 1


def test_squad_is_split_into_words_without_loss(real_data, processor):
  squad = json.loads((real_data / "squad/dev-v1.1.json").read_text(encoding="utf-8"))
  texts = [x["context"] for article in squad["data"] for x in article["paragraphs"]][::20]
  examples = [parse({"text": text}, "1", "p") for text in texts]
  for example in examples:
    words = "".join(example.text[start:end] for start, end in example.words)
    assert words == "".join(example.text.split())
  rows = NamedEntities().features(processor, examples)
  assert {row.example for row in rows} == set(range(len(examples)))


@pytest.mark.slow
def test_names_are_learned_from_random_parameters(real_data):
  folder = real_data / "crossner/politics"
  task = NamedEntities(
    train=str(folder / "train.txt"),
    dev=str(folder / "test.txt"),
    text=str(real_data / "tokenizers/roberta"),
    words=96,
    entities=64,
    mention=12,
    span_words=3,
    context=False,
  )
  sizes = {"hidden_size": 64, "intermediate_size": 256, "entity_emb_size": 64}
  chosen = dataclasses.replace(
    experiment(with_labels(task), **sizes, initializer_range=0.1),
    data=Data(batch_size=16, evaluation_batch_size=64),
  )
  with pytest.warns(UserWarning, match="longer than"):  # names of more than three words
    losses, found = learned(chosen, 400)
  first, last = np.mean(losses[:50]), np.mean(losses[-50:])
  print(f"loss {first:.3f} -> {last:.3f}", {k: round(v, 4) for k, v in found.items()})
  assert last < 0.6 * first
  assert found["f1"] > 0  # most spans are no name, and who says so of all of them finds none
