"""TransE on WN18RR: a filtered test MRR of .22 at least, in ten minutes on one CPU core.

LibKGE's TransE has .228 (Ruffinelli et al. 2020), that of Sun et al. (2019) about as much. The
graph is in OpenKE's repository, https://github.com/thunlp/OpenKE, as `benchmarks/WN18RR`.

    luke-jax graph train experiments/graph/wn18rr.py --output runs/wn18rr --set task.graph=WN18RR
    luke-jax graph evaluate WN18RR --vectors runs/wn18rr/vectors
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
    model=TransEConfig(40943, 11, hidden_size=256),
    task=LinkPrediction(graph="WN18RR", margin=6.0, temperature=0.5, dev_triples=1000),
    data=Data(batch_size=4, evaluation_batch_size=1),
    optimizer=adam(5e-3),
    schedule=Schedule(warmup_ratio=0.0),
    run=Run(epochs=300, evaluate_every=6000, log_every=100, best_metric="mrr"),
  )
