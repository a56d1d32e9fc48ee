"""mLUKE-base's pretraining, second stage: everything trains, on the Wikipedias of 24 languages.

The settings and the corpora are those of mluke_large.py, from xlm-roberta-base, but for the
released model's peak learning rate, 1e-4 here and 5e-4 in the first stage.

    luke-jax train experiments/pretraining/mluke_base_stage1.py --output runs/mluke-base-stage1
    luke-jax train experiments/pretraining/mluke_base.py --output runs/mluke-base

Hardware: v5e:16x16, 8 sequences a chip. No corpus is needed to plan it, which says 3.6 GiB a chip,
47 ms of computation a step and 7.1 to 9.7 hours a stage. A third of that is the words' vocabulary,
of which each chip sums the whole gradient; so utilization is 43 %.

    luke-jax plan experiments/pretraining/mluke_base.py --topology v5e:16x16
"""

import dataclasses
from pathlib import Path

from luke_jax.models.table import SIZES
from luke_jax.training.experiment import Experiment, load_experiment


def config() -> Experiment:
  """The experiment."""
  large = load_experiment(Path(__file__).with_name("mluke_large.py"))
  model = dataclasses.replace(
    SIZES["mluke-base"],
    entity_vocab_size=large.model.entity_vocab_size,
  )
  optimizer = dataclasses.replace(large.optimizer, learning_rate=1e-4)
  run = dataclasses.replace(large.run, start="runs/mluke-base-stage1")
  return dataclasses.replace(large, model=model, optimizer=optimizer, run=run)
