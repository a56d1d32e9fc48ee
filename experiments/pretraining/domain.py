"""Pretraining for a domain: a LUKE that goes on with other texts and another entity vocabulary.

Words and the encoder start from luke-base, and so does every entity that its vocabulary has under
the same title; the others begin fresh. No paper has these settings: they are a place to start.

    hf download studio-ousia/luke-base --local-dir luke-base
    luke-jax wiki build domain-pages-articles.xml.bz2 --tokenizer luke-base --entities 20000 \\
      --output domain
    luke-jax train experiments/pretraining/domain.py --output runs/domain

Hardware: v5e:2x4, 32 sequences a chip, or more. No corpus is needed to plan it, which says 5.4 GiB
a chip, 100 ms of computation a step and 0.6 hours:

    luke-jax plan experiments/pretraining/domain.py --topology v5e:2x4
"""

import dataclasses

from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.pretraining import Pretraining
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule


def config() -> Experiment:
  """The experiment."""
  return Experiment(
    model=dataclasses.replace(
      SIZES["luke-base"],
      entity_vocab_size=20_000,
      use_entity_aware_attention=False,
    ),
    running=Running(dtype="bfloat16", attention="pallas", remat="dots"),
    task=Pretraining(corpora=("domain/pretraining",)),
    data=Data(batch_size=256, evaluation_batch_size=256, workers=4),
    optimizer=Optimizer(learning_rate=5e-5, beta2=0.999, frozen=("luke/pooler",)),
    schedule=Schedule(warmup_steps=1000),
    run=Run(steps=20_000, start="luke-base", log_every=50, evaluate_every=2000),
  )
