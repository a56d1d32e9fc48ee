"""Linkers of one knowledge side by side: what each part of a candidate's score is worth.

    luke-jax entities describe TABLES --output knowledge --examples 40000
    python experiments/linkers/variants.py knowledge runs/linkers --steps 2400 --seeds 0 1 2

Prints a line for each linker and seed. `untrained_accuracy` is that of names whose entity no name
of the training file means.
"""

import argparse
import dataclasses
import functools
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn

from luke_jax.convert.published import published
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.heads.linking import PRIORS, VECTORS, LinkingHead
from luke_jax.models.head import Outputs, States, Tables
from luke_jax.models.network import Network
from luke_jax.models.system import Backbone
from luke_jax.runs.recipes import task_experiment
from luke_jax.runs.training import run
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.linking.candidates import IDS, CandidateVectors, entity_of
from luke_jax.tasks.linking.knowledge import open_knowledge
from luke_jax.tasks.linking.names import NONE
from luke_jax.tasks.linking.task import EntityLinking

ROWS = 256  # width of trained rows
VARIANTS: dict[str, dict[str, Any]] = {
  "description": {"rounds": 0},
  "description, no prior": {"rounds": 0, "priors": False},
  "row": {"rounds": 0, "vectors": "rows"},
  "description and row": {"rounds": 0, "vectors": "both"},
  "description, names beside": {"rounds": 1},
  "description, names beside twice": {"rounds": 2},
}


class VariedHead(LinkingHead):
  """A head for candidates with a row of a trained table, or without priors."""

  reads: str = "descriptions"  # or rows, or both
  priors: bool = True
  entities_known: int = 0

  kind: ClassVar[str] = "varied_linking"

  @property
  def own_inputs(self) -> Mapping[str, tuple[int, ...]]:
    """Returns the shapes of what a row has beside words."""
    return {**super().own_inputs, IDS: (2, 1)}

  @nn.compact
  def __call__(
    self, states: States, tables: Tables, *, candidate_ids: jax.Array, **inputs: jax.Array
  ) -> Outputs:
    """Returns the logits of the head as it is, for other vectors and priors."""
    if self.reads != "descriptions":
      table = self.param("rows", nn.initializers.zeros, (self.entities_known, ROWS))
      rows = jnp.where(candidate_ids[..., None] == NONE, 0, table[jnp.maximum(candidate_ids, 0)])
      parts = [rows, inputs[VECTORS]] if self.reads == "both" else [rows]
      inputs[VECTORS] = jnp.concatenate([x.astype(rows.dtype) for x in parts], axis=-1)
    if not self.priors:
      inputs[PRIORS] = (inputs[PRIORS] > 0).astype(jnp.float32)
    return super().__call__(states, tables, **inputs)


class WithIds(CandidateVectors):
  """Vectors of candidates, and which candidates these are."""

  def shapes(self, backbone: Backbone, words: int) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the shapes with those of the ids."""
    ids = jax.ShapeDtypeStruct((self.names, self.candidates), jnp.int32)
    return {**super().shapes(backbone, words), IDS: ids}

  def batch(self, backbone: Backbone, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns a batch with vectors beside ids."""
    return {**super().batch(backbone, dict(arrays)), IDS: arrays[IDS]}


@dataclasses.dataclass(frozen=True)
class VariedLinking(EntityLinking):
  """Linking by a varied head, scored also by whether an entity was trained on."""

  vectors: str = "descriptions"
  priors: bool = True

  heads: ClassVar[tuple[str, ...]] = (VariedHead.kind,)

  @property
  def extra_inputs(self) -> tuple[WithIds, ...]:
    """Returns vectors and ids."""
    return (WithIds(self.knowledge, self.sizes.entities, self.candidates),)

  def network(self, backbone: Backbone) -> Network:
    """Returns a backbone with the varied head."""
    known, numerics = open_knowledge(self.knowledge), backbone.numerics_of(LinkingHead.kind)
    head = VariedHead(
      numerics,
      known.width,
      rounds=self.rounds,
      reads=self.vectors,
      priors=self.priors,
      entities_known=len(known),
    )
    return Network(backbone, head)

  def evaluate(self, examples: Sequence[Any], predictions: Sequence[Any]) -> Evaluation:
    """Returns the usual scores, and the accuracy of entities with and without training."""
    evaluation = super().evaluate(examples, predictions)
    known, trained = open_knowledge(self.knowledge), trained_on(self.train, self.knowledge)
    right: dict[bool, list[bool]] = {True: [], False: []}
    for example, links in zip(examples, predictions, strict=True):
      said = {(x.start, x.end): x.title for x in links}
      for mention in example.mentions or ():
        if mention.title:
          of = right[entity_of(mention, known) in trained]
          of.append(said.get(mention[:2]) == mention.title)
    parts = {"trained_accuracy": right[True], "untrained_accuracy": right[False]}
    extra = {name: sum(x) / max(1, len(x)) for name, x in parts.items()}
    extra |= {"trained_names": len(right[True]), "untrained_names": len(right[False])}
    return dataclasses.replace(evaluation, scores={**evaluation.scores, **extra})


@functools.cache
def trained_on(file: str, knowledge: str) -> frozenset[int]:
  """Returns the entities that names of the training file mean."""
  known = open_knowledge(knowledge)
  examples = EntityLinking(knowledge=knowledge).read(Path(file), Faults())
  names = (mention for x in examples for mention in x.mentions or () if mention.title)
  return frozenset(entity_of(mention, known) for mention in names)


def main() -> None:
  """Trains each variant with each seed."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("knowledge", type=Path)
  parser.add_argument("output", type=Path)
  parser.add_argument("--model", type=Path, default=None)
  parser.add_argument("--steps", type=int, nargs="+", default=[600])
  parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
  parser.add_argument("--variants", nargs="+", default=list(VARIANTS))
  parser.add_argument("--set", nargs="+", default=[])
  options = parser.parse_args()
  files = str(options.knowledge / "train.jsonl"), options.knowledge / "dev.jsonl"
  for steps in options.steps:
    for variant in options.variants:
      for seed in options.seeds:
        begun = time.time()
        fields = {"knowledge": options.knowledge, **VARIANTS[variant]}
        changes = [f"task.{name}={value}" for name, value in fields.items()]
        changes += [f"run.steps={steps}", "run.epochs=null", f"run.seed={seed}", *options.set]
        changes += [f"run.evaluate_every={steps}", f"run.save_every={steps}"]
        start = options.model or published("english")
        experiment = task_experiment(VariedLinking, files, start, changes)
        summary = run(experiment, options.output / f"{variant}, {steps}, {seed}".replace(" ", "_"))
        scores = {name: round(x, 4) for name, x in summary.items() if name.startswith("dev/")}
        line = {"variant": variant, "steps": steps, "seed": seed, **scores}
        print(json.dumps({**line, "seconds": round(time.time() - begun)}), flush=True)


if __name__ == "__main__":
  main()
