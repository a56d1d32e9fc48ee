"""TransE on CoDEx-S: a filtered test MRR of .35 at least, in minutes on two CPU cores.

LibKGE's best TransE has .354 (Ruffinelli et al. 2020, Safavi and Koutra 2020). The graph is at
https://github.com/tsafavi/codex, MIT licence: `data/triples/codex-s`, beside which its hard
negatives are `valid_negatives.txt` and `test_negatives.txt`.

    luke-jax graph train experiments/graph/codex_s.py --output runs/codex-s \\
      --set task.graph=codex-s
    luke-jax graph evaluate codex-s --vectors runs/codex-s/vectors
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
    model=TransEConfig(2034, 42, hidden_size=192, norm=2),
    task=LinkPrediction(graph="codex-s", margin=6.0, temperature=1.5, chunk=128, dev_chunk=128),
    data=Data(batch_size=8, evaluation_batch_size=1),
    optimizer=adam(1e-2),
    schedule=Schedule(warmup_ratio=0.0),
    run=Run(epochs=36, evaluate_every=640, log_every=100, best_metric="mrr"),
  )
