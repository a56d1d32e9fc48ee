"""LUKE-large's pretraining, second stage (paper, appendix A, table 9), on made-up pages.

The sizes, batch and optimizer are the paper's: 512 words and 128 entities, 2,048 sequences, 98,168
steps a stage, all parameters. The pages stand in for Wikipedia's, so this is for planning and
measuring: the paper's model took 30 days on 16 V100 for both stages. Hardware: v5e:4x4 or more.
"""

import dataclasses

from luke_jax.config import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule


def config() -> Experiment:
  """The experiment."""
  return Experiment(
    model=dataclasses.replace(
      SIZES["luke-large"], dtype="bfloat16", attention="pallas", remat="dots"
    ),
    task=SyntheticPretraining(pages=2**20),
    data=Data(batch_size=2048, evaluation_batch_size=512, workers=8),
    optimizer=Optimizer(learning_rate=1e-5, beta2=0.999, frozen=("luke/pooler",)),
    schedule=Schedule(warmup_steps=2500),
    run=Run(steps=98_168, accumulation=1, save_every=1000, log_every=50),
  )
