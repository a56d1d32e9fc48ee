"""mLUKE-large's pretraining, second stage: 1.2 million entities of 24 languages; made-up pages.

The settings are those of the released model: original attention, 512 words and 128 entities, 2,048
sequences, 540,326 steps a stage, all parameters. The pages stand in for Wikipedia's, so this is
for planning and measuring. Hardware: v5e:16x16.
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
      SIZES["mluke-large"], dtype="bfloat16", attention="pallas", remat="dots"
    ),
    task=SyntheticPretraining(pages=2**20),
    data=Data(batch_size=2048, evaluation_batch_size=512, workers=8),
    optimizer=Optimizer(learning_rate=5e-5, beta2=0.999, frozen=("luke/pooler",)),
    schedule=Schedule(warmup_steps=2500),
    run=Run(steps=540_326, accumulation=1, save_every=1000, log_every=50),
  )
