"""LUKE-base's pretraining, second stage: everything trains (paper, appendix A).

The settings are those of luke_large.py, as the authors gave them for both: 512 words and 128
entities, 2,048 sequences, original attention, 98,168 steps a stage, peak learning rate 1e-5 here
and 5e-4 in the first stage.

    luke-jax wiki build enwiki-pages-articles.xml.bz2 --tokenizer roberta-base --output enwiki
    luke-jax train experiments/pretraining/luke_base_stage1.py --output runs/luke-base-stage1
    luke-jax train experiments/pretraining/luke_base.py --output runs/luke-base

Hardware: v5e:2x4 or more. No corpus is needed to plan it, which says 6.0 GiB a chip, 884 ms of
computation a step and 24.1 to 25.0 hours a stage:

    luke-jax plan experiments/pretraining/luke_base.py --topology v5e:2x4
"""

import dataclasses
from pathlib import Path

from luke_jax.models.table import SIZES
from luke_jax.training.experiment import Experiment, load_experiment


def config() -> Experiment:
  """The experiment."""
  large = load_experiment(Path(__file__).with_name("luke_large.py"))
  model = dataclasses.replace(
    SIZES["luke-base"],
    use_entity_aware_attention=False,
  )
  run = dataclasses.replace(large.run, accumulation=8, start="runs/luke-base-stage1")
  return dataclasses.replace(large, model=model, run=run)
