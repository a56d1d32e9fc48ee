"""A stage of a tiny ERNIE of Baidu, on the demonstration file of its authors.

The file, demo_units.gz, has phrases as its authors' and entities as units.py finds them; ernie-1.0
is a folder with their vocab.txt. Single characters here; run.sh has the other stages.

    luke-jax train experiments/tiny_ernie/pretraining.py --output runs/tiny-ernie
"""

from luke_jax.pipeline.batches import Data
from luke_jax.systems.ernie_baidu import ErnieBaiduConfig
from luke_jax.systems.ernie_baidu.pretraining import UnitPretraining
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule


def config() -> Experiment:
  """The experiment."""
  return Experiment(
    model=ErnieBaiduConfig(
      hidden_size=128,
      num_hidden_layers=2,
      num_attention_heads=4,
      intermediate_size=512,
      max_position_embeddings=160,
      # With four layers, the usual 0.02 and dropout, 600 steps learn how frequent words are and no
      # more: states are nearly equal in all texts, and learn names and topics worse than fresh do.
      initializer_range=0.1,
      hidden_dropout_prob=0.0,
      attention_probs_dropout_prob=0.0,
    ),
    task=UnitPretraining(
      files=("demo_units.gz",),
      text="ernie-1.0",
      levels=("phrase", "entity"),
      mixture=(1.0, 0.0, 0.0),
      words=136,
      masked=28,
    ),
    data=Data(batch_size=32, evaluation_batch_size=64, lengths=3),
    optimizer=Optimizer(
      learning_rate=2e-3, beta2=0.999, bias_correction=True, max_gradient_norm=1.0
    ),
    schedule=Schedule(warmup_ratio=0.1),
    run=Run(steps=3000, evaluate_every=1000, save_every=1000),
  )
