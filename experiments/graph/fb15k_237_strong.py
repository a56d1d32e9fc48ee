"""TransE on FB15k-237 for an accelerator: a filtered test MRR of .332.

The recipe of Sun et al. (2019), whose author reports .332: width 1000, 100,000 steps of
1,024 triples with 256 negatives. Steps there replace heads and tails in turn, here both at once.
The rate falls to zero over the run; there it falls once, at half way.

    luke-jax graph train experiments/graph/fb15k_237_strong.py --output runs/fb15k-237-strong \\
      --set task.graph=FB15K237
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
    model=TransEConfig(14541, 237),
    task=LinkPrediction(graph="FB15K237", chunk=128),
    data=Data(batch_size=8, evaluation_batch_size=1),
    optimizer=adam(5e-5),
    schedule=Schedule(warmup_ratio=0.0),
    run=Run(steps=100_000, evaluate_every=10_000, best_metric="mrr"),
  )
