"""TransE on the graph of data/few_rel: Wikidata's items in FB15k-237 and CoDEx-S, 100 numbers each.

    python -m data.few_rel.make ORIGINALS
    luke-jax graph train experiments/few_rel/graph.py --output runs/few_rel/graph

data/few_rel/README.md says what ORIGINALS holds. The width is that of ERNIE of Tsinghua's vectors.
"""

from pathlib import Path

from luke_jax.systems.transe.graphs import graph_experiment
from luke_jax.training.experiment import Experiment
from luke_jax.training.overrides import override


def config() -> Experiment:
  """Returns the experiment."""
  changes = ["model.hidden_size=100", "run.epochs=6", "run.evaluate_every=990"]
  return override(
    graph_experiment(Path("datasets/few_rel/graph")), [*changes, "task.dev_triples=500"]
  )
