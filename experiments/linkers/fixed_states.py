"""Heads of linkers on the states of a trained one, whose encoder stays as it is.

    luke-jax train linking … --output runs/linker
    python experiments/linkers/fixed_states.py runs/linker/model knowledge --seeds 0 1 2

States of names are read once, so that a head takes minutes on a CPU. Prints a line for each head,
order of decisions and seed. The knowledge may describe entities otherwise than the linker's does.
"""

import argparse
import dataclasses
import functools
import json
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from variants import VariedHead, VariedLinking

import luke_jax
from luke_jax.convert.parts import ModelParts
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.heads.labels import ENDS, STARTS
from luke_jax.heads.linking import PRIORS, VECTORS, LinkingHead
from luke_jax.inference.batches import outputs, shapes_of
from luke_jax.inference.settings import processor_of
from luke_jax.models.head import Head, Outputs, States, Tables
from luke_jax.models.network import Network
from luke_jax.nn.losses import IGNORED
from luke_jax.tasks.linking.candidates import IDS
from luke_jax.tasks.linking.knowledge import open_knowledge
from luke_jax.tasks.linking.names import NONE
from luke_jax.tasks.predictions import Link
from luke_jax.tasks.running import checked
from luke_jax.text import Row

WORDS, NAMES = 128, 16  # of a row, as in training
SURE = 1e4  # logit of what is certain
ROWS = 64  # that are scored together


class NameStates(Head):
  """States of each name's first and last word, and of its own token if there is one."""

  kind: ClassVar[str] = "name_states"
  entities: ClassVar[int] = 1
  places: ClassVar[tuple[str, ...]] = (STARTS, ENDS)

  def __call__(self, states: States, tables: Tables, **inputs: jax.Array) -> Outputs:
    """Returns them as if they were logits (B, E, 2D or 3D)."""
    found = [jnp.take_along_axis(states.words, inputs[x][..., None], axis=1) for x in self.places]
    found += [] if states.entities is None else [states.entities]
    return {"logits": jnp.concatenate(found, axis=-1)}

  def loss(self, outputs: Outputs, *labels: Any, **named: Any) -> jax.Array:
    """Returns 0: nothing is trained."""
    return jnp.zeros(())


class OrderedHead(VariedHead):
  """A head that settles names in the order of confidence, or is told what some of them mean."""

  steps: int = 0  # in which names are settled; 0: names are read as in training
  unsure: bool = True  # names that are not settled are read too, as what they likely mean
  given: jax.Array | None = None  # (B, E), labels of names that are settled, -1 of others

  kind: ClassVar[str] = "ordered_linking"

  def again(self, logits: jax.Array, score: Callable[[jax.Array], jax.Array]) -> jax.Array:
    """Returns the logits of each name as it is settled."""
    nothing = jnp.full_like(logits, -SURE).at[..., -1].set(0)
    if self.given is not None:
      known = jnp.where(jax.nn.one_hot(self.given, logits.shape[-1]) > 0, 0, -SURE)
      return score(jnp.where((self.given < 0)[..., None], nothing, known))
    if not self.steps:
      return super().again(logits, score)
    has_any = logits[..., :-1].max(-1) > -SURE
    at_once = jnp.ceil(has_any.sum(-1, keepdims=True) / self.steps)
    settled, kept = ~has_any, logits
    for _ in range(self.steps):
      best = jax.nn.one_hot(kept.argmax(-1), kept.shape[-1]) > 0
      certain = jnp.where(best, 0, -SURE)
      now = score(jnp.where(settled[..., None], certain, kept if self.unsure else nothing))
      kept = jnp.where(settled[..., None], kept, now)
      sure = jnp.where(settled, -1, jax.nn.softmax(kept).max(-1))
      settled |= (-sure).argsort(-1).argsort(-1) < at_once
    return kept


class Trial(NamedTuple):
  """A head, and what it is told in training."""

  fields: dict[str, Any]
  orders: dict[str, dict[str, Any]]  # ways to decide with it
  told: bool = False  # what some names really mean, and of the others nothing


IN_ORDER = {"the surest tenth at a time": {"steps": 10}, "one after the other": {"steps": NAMES}}
UNREAD = {name: {**fields, "unsure": False} for name, fields in IN_ORDER.items()}
TRIALS = {
  "names by themselves": Trial({}, {"each by itself": {}}),
  "without priors": Trial({"priors": False}, {"each by itself": {}}),
  "rows": Trial({"reads": "rows"}, {"each by itself": {}}),
  "descriptions and rows": Trial({"reads": "both"}, {"each by itself": {}}),
  "a round": Trial({"rounds": 1}, {"at once": {}, **IN_ORDER}),
  "two rounds": Trial({"rounds": 2}, {"at once": {}}),
  "names told": Trial(
    {"rounds": 1}, {"each by itself": {"steps": 1, "unsure": False}, **UNREAD}, told=True
  ),
}


class Names(NamedTuple):
  """Inputs of heads for the names of rows, and what these names mean."""

  states: np.ndarray  # (N, E, 2D or 3D)
  ids: np.ndarray  # (N, E, C)
  priors: np.ndarray  # (N, E, C)
  labels: np.ndarray  # (N, E)

  def some(self, chosen: Any) -> "Names":
    """Returns the names of some rows."""
    return Names(*(x[chosen] for x in self))


class Split(NamedTuple):
  """The examples of a file, their rows, and the names in them."""

  examples: Sequence[Any]
  rows: Sequence[Row]
  names: Names


def read_split(model: ModelParts, task: VariedLinking, file: Path) -> Split:
  """Returns a file's names with their states in the model."""
  examples = checked(task, task.read(file, Faults()), Faults())
  processor = processor_of(model, task)
  rows = task.features(processor, examples)
  encoder, backbone = model.backbone.config.name, model.backbone
  network = Network(backbone, NameStates(backbone.numerics))
  reading = dataclasses.replace(
    model, network=network, params={encoder: model.params[encoder]}, labels=()
  )
  pad = processor.entity_vocab.pad_id
  found = outputs(reading, task, rows, pad, shapes_of(backbone))["logits"]
  shape = len(rows), task.sizes.entities
  names = Names(
    np.zeros((*shape, found[0].shape[-1]), np.float16),
    np.full((*shape, task.candidates), NONE, np.int32),
    np.zeros((*shape, task.candidates), np.float32),
    np.full(shape, IGNORED, np.int32),
  )
  for i, row in enumerate(rows):
    extra, labels = row.extra or {}, np.asarray(row.labels)
    of_row = found[i], extra[IDS], extra[PRIORS], labels
    for array, values in zip(names, of_row, strict=True):
      array[i, : len(labels)] = values[: len(labels)]
  return Split(examples, rows, names)


@functools.partial(jax.jit, static_argnames="width")
def inputs(names: Names, vectors: jax.Array, width: int) -> dict[str, Any]:
  """Returns the inputs of a head for an encoder of a width."""
  states = jnp.asarray(names.states, jnp.float32)
  count, room, _ = states.shape
  ends, own = states[..., : 2 * width], states[..., 2 * width :]
  words = ends.reshape(count, 2 * room, width)
  places = jnp.broadcast_to(2 * jnp.arange(room), (count, room))
  return {
    "states": States(words, own if own.shape[-1] else None),
    "tables": Tables(jnp.zeros((1, width))),
    STARTS: places,
    ENDS: places + 1,
    VECTORS: jnp.asarray(vectors[names.ids], jnp.float32),  # of `NONE` the last one
    PRIORS: names.priors,
    IDS: names.ids,
  }


@dataclasses.dataclass(frozen=True)
class Training:
  """Settings of the training of heads."""

  steps: int
  rate: float
  batch: int
  told: bool = False


def trained(
  head: OrderedHead, names: Names, vectors: jax.Array, width: int, training: Training, seed: int
) -> Any:
  """Returns the parameters of a head that was trained on names."""
  rng, key = np.random.default_rng(seed), jax.random.key(seed)
  steps = training.steps
  rate = optax.warmup_cosine_decay_schedule(0, training.rate, steps // 10, steps)
  optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=0.01))

  def loss(params: Any, batch: Names, given: jax.Array | None, key: jax.Array) -> jax.Array:
    labels = jnp.asarray(batch.labels)
    if given is not None:
      labels = jnp.where(given < 0, labels, IGNORED)
    read = head.clone(given=given)
    arrays = inputs(batch, vectors, width)
    found: Any = read.apply({"params": params}, **arrays, rngs={"dropout": key})
    return read.loss(found, labels)

  @jax.jit
  def step(params: Any, state: Any, *batch: Any) -> Any:
    grads = jax.grad(loss)(params, *batch)
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state

  params = head.init(key, **inputs(names.some([0]), vectors, width))["params"]
  state = optimizer.init(params)
  for number in range(steps):
    batch = names.some(rng.integers(0, len(names.ids), training.batch))
    given = None
    if training.told:  # of each row's names none to nine tenths
      told = rng.random(batch.labels.shape) < rng.uniform(0, 0.9, (training.batch, 1))
      given = np.where(told & (batch.labels >= 0), batch.labels, -1)
    params, state = step(params, state, batch, given, jax.random.fold_in(key, number))
  return params


def predicted(
  head: OrderedHead, params: Any, split: Split, task: VariedLinking, vectors: jax.Array, width: int
) -> list[list[Link]]:
  """Returns the links of a split's examples by a head."""

  @jax.jit
  def logits_of(some: Names) -> Any:
    found: Any = head.apply({"params": params}, **inputs(some, vectors, width))
    return found["logits"]

  logits = []
  for first in range(0, len(split.rows), ROWS):
    logits += list(np.asarray(logits_of(split.names.some(slice(first, first + ROWS)))))
  return task.decode(split.examples, split.rows, {"logits": logits})


def with_none(vectors: np.ndarray) -> jax.Array:
  """Returns the vectors of entities with zeros at the end, for `NONE`."""
  return jnp.concatenate([jnp.asarray(vectors), jnp.zeros((1, vectors.shape[1]), vectors.dtype)])


def main() -> None:
  """Trains each head with each seed, and scores each way to decide with it."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("model", type=Path)
  parser.add_argument("knowledge", type=Path)
  parser.add_argument("--steps", type=int, default=2000)
  parser.add_argument("--rate", type=float, default=5e-4)
  parser.add_argument("--batch", type=int, default=16)
  parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
  parser.add_argument("--heads", nargs="+", choices=list(TRIALS), default=list(TRIALS))
  options = parser.parse_args()
  model, folder = luke_jax.load(options.model), options.knowledge
  known, width = open_knowledge(str(folder)), model.config.hidden_size
  vectors = with_none(known.all_vectors)
  task = VariedLinking(
    knowledge=str(folder), train=str(folder / "train.jsonl"), words=WORDS, entities=NAMES
  )
  train = read_split(model, dataclasses.replace(task, fill=True), folder / "train.jsonl")
  dev = read_split(model, task, folder / "dev.jsonl")
  plain = OrderedHead(
    model.backbone.numerics_of(LinkingHead.kind), known.width, entities_known=len(known)
  )
  for name in options.heads:
    trial = TRIALS[name]
    head = plain.clone(**trial.fields)
    training = Training(options.steps, options.rate, options.batch, trial.told)
    for seed in options.seeds:
      begun = time.time()
      params = trained(head, train.names, vectors, width, training, seed)
      seconds = round(time.time() - begun)
      for order, changes in trial.orders.items():
        links = predicted(head.clone(**changes), params, dev, task, vectors, width)
        found = task.evaluate(dev.examples, links).scores
        scores = {key: round(x, 4) for key, x in found.items()}
        line = {"head": name, "decided": order, "seed": seed, **scores, "seconds": seconds}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
  main()
