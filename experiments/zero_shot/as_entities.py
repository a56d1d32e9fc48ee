"""Labels that a LUKE reads as entity tokens beside a text, and labels that are compared with it.

    luke-jax get english
    python -m data.wiki_types.make TABLES --output typed
    python -m experiments.zero_shot.as_entities typed/train.jsonl ORIGINALS --model english/labels

MiniLM reads the words of both. Each label of a row, or of those that are asked for, is one entity
without a place, whose vector is the label's, so that words and labels ask each other with queries
of their own. ORIGINALS is that of data/english/README.md. Prints a line for each form and seed: F1
on the first sentences of the test parts, with one threshold that is the best one on those of dev,
and milliseconds for a sentence.
"""

import argparse
import dataclasses
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

import luke_jax
from data.english.make import DOMAINS
from data.english.zero_shot import sets
from luke_jax.convert.fine_tuning import fine_tuning_start
from luke_jax.convert.parts import ModelParts
from luke_jax.convert.published import published
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.heads.labels import STARTS
from luke_jax.heads.matching import LABELS, MatchHead
from luke_jax.inference.predicting import predictions
from luke_jax.inference.settings import processor_of
from luke_jax.inference.text_vectors import reader_of
from luke_jax.models.head import Outputs, States, Tables
from luke_jax.models.network import apply, initial_params
from luke_jax.models.system import Backbone, Described
from luke_jax.nn.layers import Dense
from luke_jax.systems.luke import LukeConfig
from luke_jax.tasks.labels.task import LabelledNames
from luke_jax.tasks.labels.wordings import keep_wordings
from luke_jax.tasks.running import checked
from luke_jax.text import Processor
from luke_jax.text.rows import WORD_INPUTS, Sizes

WORDS, BATCH = 64, 16  # pieces of a row, rows of a step
SENTENCES = {"dev": 100, "test": 200}  # of each set
LEAST = 0.02  # score of a span that may be a name


class LabelTokens(MatchHead):
  """Products of spans and labels, which are what they were and what their tokens read."""

  entity_width: int = 0

  kind: ClassVar[str] = "label_tokens"

  def setup(self) -> None:
    """Makes the map of labels' vectors to those of entities."""
    self.label_transform = Dense(self.numerics, (self.entity_width,), use_bias=False)

  def to_encoder(self, **inputs: Any) -> dict[str, jax.Array]:
    """Returns the labels as entities of each row, without a place."""
    labels, rows = inputs[LABELS], len(inputs[STARTS])
    shape = rows, *labels.shape[1:]
    ids = jnp.ones(shape[:2], int)
    return {
      "entity_ids": ids,
      "entity_attention_mask": jnp.broadcast_to((labels != 0).any(-1), shape[:2]),
      "entity_position_ids": -ids[..., None],
      "entity_vectors": self.label_transform(jnp.broadcast_to(labels, shape)),
    }

  @nn.compact
  def __call__(
    self, states: States, tables: Tables, *, label_vectors: jax.Array, **places: jax.Array
  ) -> Outputs:
    """Returns the logits of the products with what labels read added to their vectors."""
    assert states.entities is not None
    found = Dense(self.numerics, (self.width,), use_bias=False, name="read")(states.entities)
    given = (label_vectors != 0).any(-1, keepdims=True)
    labels = jnp.where(given, label_vectors + found, 0)
    return super().__call__(States(states.words), tables, label_vectors=labels, **places)


@dataclasses.dataclass(frozen=True)
class AskedNames(LabelledNames):
  """Names with labels, whose spans are no entities of a LUKE."""

  words: int = WORDS
  window: int = WORDS
  entities: int = 8 * WORDS  # all spans of a row

  def input_names(self, backbone: Backbone) -> tuple[str, ...]:
    """Returns words, and the places of spans."""
    return (*WORD_INPUTS, *MatchHead.places)

  def fitted(self, processor: Processor, backbone: Backbone | None = None) -> Processor:
    """Returns a processor of words."""
    plain = super().fitted(processor, backbone)
    return dataclasses.replace(plain, entity_reading="none")

  def row_sizes(self, backbone: Backbone, words: int) -> Sizes:
    """Returns the room of a row: for all its spans."""
    return Sizes(words, self.spans if self.learns else words * self.span_words, self.mention)


FORMS = ("compared", "as entities")


class Found(NamedTuple):
  """Spans of a set with the scores of their labels, and how many names it has."""

  right: np.ndarray  # of each span that was found, whether it is a name of that label
  scores: np.ndarray
  names: int

  def f1(self, threshold: float) -> float:
    """Returns F1 of the spans from a score on."""
    kept = self.scores >= threshold
    return 2 * self.right[kept].sum() / max(1, kept.sum() + self.names)


def start(form: str, trained: Path | None) -> ModelParts:
  """Returns MiniLM as a LUKE with the head of a form, or both as a model of labels has them."""

  def head(backbone: Backbone, _: Described) -> MatchHead:
    numerics, width = backbone.numerics_of(MatchHead.kind), backbone.config.hidden_size
    if form == FORMS[0]:
      return MatchHead(numerics, width)
    return LabelTokens(numerics, width, backbone.config.entity_width)

  fields: Any = {"head": head, "labels": (), "new_words": {}, "entities": "special"}
  if trained is None:
    begun, of_head = fine_tuning_start(published("english"), **fields, system=LukeConfig), {}
  else:
    model = luke_jax.load(trained)
    with tempfile.TemporaryDirectory() as folder:
      model.save(f"{folder}/model")
      begun = fine_tuning_start(f"{folder}/model", **fields, system=LukeConfig)
    of_head = {name: x for name, x in model.params.items() if name != model.config.name}
  return dataclasses.replace(begun, params={"luke": begun.params["luke"], **of_head})


def batches(
  model: ModelParts, file: Path, steps: int, seed: int
) -> Iterator[dict[str, np.ndarray]]:
  """Yields the batches of a training."""
  rng, faults = np.random.default_rng(seed), Faults(skip=True)
  task = AskedNames(train=str(file), text=str(published("english")))
  examples = checked(task, task.read(file, faults), faults)
  drawn = [examples[i] for i in rng.permutation(len(examples))[: steps * BATCH]]
  texts = tuple(dict.fromkeys(task.wordings(drawn)))
  vectors = reader_of(published("english")).vectors(texts)
  task = dataclasses.replace(task, table=keep_wordings(texts, vectors, str(seed)))
  rows = [row for row in task.features(processor_of(model, task), drawn) if len(row.source)]
  for some in np.resize(rng.permutation(len(rows)), (steps, BATCH)):
    yield task.rows(model.backbone, [rows[i] for i in some], ())


def trained(
  model: ModelParts, file: Path, steps: int, rate: float, seed: int
) -> tuple[ModelParts, float]:
  """Returns a model after so many steps, all of it trained, and the seconds of a step."""
  network, task = model.network, AskedNames()
  schedule = optax.warmup_cosine_decay_schedule(0, rate, steps // 10, steps)
  optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=0.01))
  fresh = initial_params(network, jax.random.key(seed))
  params: Any = jax.tree.map(jnp.asarray, {**fresh, **model.params})

  def loss(params: Any, batch: Any, key: jax.Array) -> jax.Array:
    inputs = {name: x for name, x in batch.items() if name != "labels"}
    found = apply(network, params, inputs, key)
    return network.loss(found, batch["labels"], weights=task.weights(batch))

  @jax.jit
  def step(params: Any, state: Any, batch: Any, key: jax.Array) -> Any:
    updates, state = optimizer.update(jax.grad(loss)(params, batch, key), state, params)
    return optax.apply_updates(params, updates), state

  state, key, begun = optimizer.init(params), jax.random.key(seed), 0.0
  for number, batch in enumerate(batches(model, file, steps, seed)):
    params, state = step(params, state, batch, jax.random.fold_in(key, number))
    if number == 0:  # compiled
      begun = time.perf_counter()
  jax.block_until_ready(params)
  seconds = (time.perf_counter() - begun) / max(1, steps - 1)
  return dataclasses.replace(model, params=jax.device_get(params)), seconds


def asking(labels: dict[str, str]) -> AskedNames:
  """Returns the task that asks for labels, each read as words."""
  names = tuple(sorted(labels))
  vectors = reader_of(published("english")).vectors([labels[name] for name in names])
  table = keep_wordings(names, vectors, "\n".join(labels[name] for name in names))
  return AskedNames(labels=names, table=table, threshold=LEAST)


def found(model: ModelParts, file: Path, labels: dict[str, str], most: int) -> Found:
  """Returns the spans that a model finds in the first sentences of a file."""
  task, faults = asking(labels), Faults(skip=True)
  examples = checked(task, task.read(file, faults), faults)[:most]
  spans, right, names = [], [], 0
  for example, of_example in predictions(model, task, examples):
    wanted = {
      (span.start, span.end, label)
      for span, own in zip(example.spans or (), example.labels, strict=True)
      for label in own
      if label in labels
    }
    names += len(wanted)
    spans += of_example
    right += [(x.start, x.end, x.label) in wanted for x in of_example]
  return Found(np.array(right, bool), np.array([x.score for x in spans]), names)


def f1(model: ModelParts, originals: Path) -> dict[str, float]:
  """Returns F1 on the test part of each set, with the threshold that is best on dev."""
  of = {
    split: {name: found(model, file, labels, most) for name, file, labels in sets(originals, split)}
    for split, most in SENTENCES.items()
  }
  thresholds = np.linspace(LEAST, 0.9, 45)
  best = max(thresholds, key=lambda x: sum(one.f1(x) for one in of["dev"].values()))
  scores = {name: 100 * one.f1(best) for name, one in of["test"].items()}
  mean = sum(scores[domain] for domain in DOMAINS) / len(DOMAINS)
  return {"threshold": float(best), "mean": mean, **scores}


def milliseconds(model: ModelParts, labels: int) -> float:
  """Returns the least time of a sentence of 24 word pieces and 100 spans, compiled."""
  network, params = model.predicting
  rng = np.random.default_rng(0)
  inputs = {
    "input_ids": rng.integers(1000, 20000, (1, 24)),
    "attention_mask": np.ones((1, 24), int),
    LABELS: rng.normal(0, 0.05, (1, labels, model.config.hidden_size)).astype(np.float32),
    **{name: rng.integers(1, 22, (1, 100)) for name in MatchHead.places},
  }
  run = jax.jit(lambda params, inputs: apply(network, params, inputs)["logits"])
  times = []
  for _ in range(40):
    begun = time.perf_counter()
    jax.block_until_ready(run(params, inputs))
    times.append(time.perf_counter() - begun)
  return 1000 * min(times)


def main(arguments: Sequence[str] | None = None) -> None:
  """Trains and scores each form with each seed."""
  parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  parser.add_argument("train", type=Path)
  parser.add_argument("originals", type=Path)
  parser.add_argument("--steps", type=int, default=200)
  parser.add_argument("--rate", type=float, default=1e-4)
  parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
  parser.add_argument("--model", type=Path, default=None, help="of labels, to go on from")
  parser.add_argument("--forms", nargs="+", choices=FORMS, default=list(FORMS))
  options = parser.parse_args(arguments)
  for seed in options.seeds:
    for form in options.forms:
      begun = start(form, options.model)
      model, seconds = trained(begun, options.train, options.steps, options.rate, seed)
      line: dict[str, Any] = {"form": form, "seed": seed, "step": round(seconds, 3)}
      line |= {name: round(x, 2) for name, x in f1(model, options.originals).items()}
      line |= {f"ms, {x} labels": round(milliseconds(model, x), 1) for x in (16, 1024)}
      print(json.dumps(line), flush=True)


if __name__ == "__main__":
  main()
