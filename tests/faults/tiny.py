"""A run of seconds that evaluates, saves often, and keeps its best checkpoint."""

import dataclasses

from luke_jax.pipeline.batches import Data
from luke_jax.systems.luke import SIZES
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer

SMALL = {"vocab_size": 100, "entity_vocab_size": 50, "hidden_size": 32, "intermediate_size": 64}


def config():
  return Experiment(
    model=dataclasses.replace(SIZES["tiny"], **SMALL),
    task=SyntheticPretraining(pages=256, words=32, entities=8, mention=4),
    data=Data(batch_size=16, evaluation_batch_size=16),
    optimizer=Optimizer(learning_rate=1e-3),
    run=Run(
      steps=30, log_every=1, save_every=5, evaluate_every=10, best_metric="word_likelihood", keep=2
    ),
  )
