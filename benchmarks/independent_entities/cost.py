"""The cost of names in documents, with independent entities and in the paper's rows.

    python -m benchmarks.independent_entities.cost DIRECTORY

DIRECTORY has a tokenizer. A luke-base of random parameters reads made-up documents in three ways:
a row for each sentence alone, as `python -m benchmarks ner` does; the paper's rows, with the
document around 128 candidates of a sentence; windows of a LUKE whose entities are independent.
"""

import argparse
import dataclasses
import functools
from pathlib import Path

import numpy as np

from benchmarks.figures import encoder_flops
from benchmarks.ner import TASK, made_up_documents, random_model
from benchmarks.timing import alternate
from luke_jax.convert.parts import ModelParts
from luke_jax.inference.batches import outputs, shapes_of
from luke_jax.models.network import on_backbone
from luke_jax.tasks.ner.documents import NamesExample
from luke_jax.tasks.ner.task import NamedEntities
from luke_jax.tasks.running import fitted
from luke_jax.text import Row, load_tokenizer

SIZE = "luke-base"
PAPER = dataclasses.replace(TASK, context=True, entities=128)
WAYS = {
  "sentences alone": (TASK, False),
  "the paper's rows": (PAPER, False),
  "independent, windows of 128": (dataclasses.replace(TASK, context=True), True),
}


@dataclasses.dataclass(frozen=True)
class Reading:
  """A way to read documents."""

  task: NamedEntities
  model: ModelParts
  examples: list[NamesExample]

  @functools.cached_property
  def rows(self) -> list[Row]:
    """Returns the rows of all documents."""
    return self.task.features(self.model.processor, self.examples)

  def __call__(self) -> None:
    """Computes all logits."""
    pad_id = self.model.processor.entity_vocab.pad_id
    rows = self.task.features(self.model.processor, self.examples)
    outputs(self.model, self.task, rows, pad_id, shapes_of(self.model.backbone))

  @property
  def sizes(self) -> list[tuple[int, int]]:
    """Returns the words and the candidates of each row."""
    return [(len(row.input_ids), len(row.entity_ids)) for row in self.rows]

  @property
  def flops(self) -> float:
    """Returns the multiplications and additions of the rows, without padding."""
    count = functools.partial(encoder_flops, self.model.backbone, sequences=1)
    return sum(count(words=words, entities=entities) for words, entities in self.sizes)


def reading(model: ModelParts, examples: list[NamesExample], way: str) -> Reading:
  """Returns a way to read documents with the parameters of a model."""
  task, independent = WAYS[way]
  backbone = model.network.backbone
  config = dataclasses.replace(backbone.config, independent_entities=independent)
  backbone = dataclasses.replace(backbone, config=config)
  network = on_backbone(model.network, backbone)
  processor = fitted(task, model.processor, backbone)
  return Reading(task, dataclasses.replace(model, network=network, processor=processor), examples)


def main() -> None:
  """Prints tokens, products and seconds of each way, the latter in turns."""
  parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
  parser.add_argument("directory", type=Path)
  parser.add_argument("--documents", type=int, default=1)
  parser.add_argument("--rounds", type=int, default=2)
  given = parser.parse_args()
  tokenizer = load_tokenizer(given.directory)
  examples = made_up_documents(tokenizer, given.documents)
  model = random_model(tokenizer, SIZE, examples)
  readings = {way: reading(model, examples, way) for way in WAYS}
  for way, each in readings.items():
    words, candidates = np.sum(each.sizes, axis=0)
    counts = f"{len(each.rows)} rows, {words} words, {candidates} candidates"
    print(f"{way}: {counts}, {each.flops / 1e12:.2f} TFLOP", flush=True)
  *others, (name, independent) = readings.items()
  for other, each in others:
    timing = alternate(independent, each, given.rounds)
    ours, theirs = timing.median("ours"), timing.median("theirs")
    print(
      f"{name} {ours:.2f} s, {other} {theirs:.2f} s, {timing.ratio:.2f} times as fast", flush=True
    )


if __name__ == "__main__":
  main()
