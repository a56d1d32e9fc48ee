"""TransE on a graph of Wikidata's size, the 5,040,986 entities that ERNIE of Tsinghua reads.

It has no figure to reach: a plan says what it costs. Tables and moments are 7.2 GiB, which one v5e
holds; on a slice their rows are spread. Vectors are 128 wide, as rows of a TPU's memory are: tables
of width 100 are laid out by columns there, and each step would copy them. The number of relations
is that of the graph that `task.graph` names, and has to be set for it.

    luke-jax plan experiments/graph/wikidata.py --topology v5e:1x1
"""

from luke_jax.pipeline.batches import Data
from luke_jax.systems.transe.config import TransEConfig
from luke_jax.systems.transe.graphs import adam
from luke_jax.systems.transe.task import LinkPrediction
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Schedule


def config() -> Experiment:
  """Returns the experiment."""
  return Experiment(
    model=TransEConfig(5_040_986, 822, hidden_size=128),
    task=LinkPrediction(graph="wikidata", margin=12.0, dev_triples=1000),
    data=Data(batch_size=32, evaluation_batch_size=1, workers=8),
    optimizer=adam(1e-3),
    schedule=Schedule(warmup_ratio=0.0),
    run=Run(steps=100_000, evaluate_every=20_000, save_every=10_000, best_metric="mrr"),
  )
