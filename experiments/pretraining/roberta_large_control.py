"""The control run: RoBERTa-large on LUKE's corpus for as long, words only (paper, table 8).

The paper: 200,000 steps; fine-tuned as LUKE is, 92.5 F1 on CoNLL-2003 and 89.1 EM, 94.7 F1 on SQuAD
1.1, to LUKE's 94.3, 89.8 and 95.0. It does not say which learning rate it used: this is that of
LUKE's second stage, for the steps of both. A model without entities has none of their parts.

    luke-jax train experiments/pretraining/roberta_large_control.py --output runs/control

Hardware: v5e:16x16, 8 sequences a chip; fewer chips with more run.accumulation. No corpus is needed
to plan it, which says 2.4 GiB a chip, 58 ms of computation a step and 3.2 to 4.3 hours:

    luke-jax plan experiments/pretraining/roberta_large_control.py --topology v5e:16x16
"""

import dataclasses
from pathlib import Path

from luke_jax.models.table import SIZES
from luke_jax.training.experiment import Experiment, load_experiment


def config() -> Experiment:
  """The experiment."""
  luke = load_experiment(Path(__file__).with_name("luke_large.py"))
  model = dataclasses.replace(
    SIZES["roberta-large"],
    vocab_size=luke.model.vocab_size,  # with the rows of LUKE's markers, as it is loaded
  )
  run = dataclasses.replace(luke.run, steps=2 * 98_168, start="roberta-large")
  optimizer = dataclasses.replace(luke.optimizer, frozen=())
  return dataclasses.replace(luke, model=model, run=run, optimizer=optimizer)
