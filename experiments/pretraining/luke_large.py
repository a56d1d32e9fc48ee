"""LUKE-large's pretraining, second stage: everything trains (paper, appendix A).

The paper: RoBERTa's words, 500,000 entities of the English Wikipedia of December 2018, 512 words
and 128 entities, 2,048 sequences, original attention, 98,168 steps a stage (20 epochs), warm-up
over 2,500 steps, linear decay; peak learning rate 1e-5 here and 5e-4 in the first stage. Both
stages took its authors 30 days on 16 V100. task.authors weighs and groups masked words as they do.

    luke-jax wiki build enwiki-pages-articles.xml.bz2 --tokenizer roberta-large --output enwiki
    luke-jax train experiments/pretraining/luke_large_stage1.py --output runs/luke-large-stage1
    luke-jax train experiments/pretraining/luke_large.py --output runs/luke-large

Hardware: v5e:16x16, 8 sequences a chip; fewer chips with more run.accumulation. No corpus is needed
to plan it, which says 3.1 GiB a chip, 79 ms of computation a step and 2.2 to 2.8 hours a stage:

    luke-jax plan experiments/pretraining/luke_large.py --topology v5e:16x16

There --set mesh.replica=16 halves what chips send (docs/plan.md).
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
      SIZES["luke-large"],
      use_entity_aware_attention=False,  # it comes with fine-tuning; true pretrains with it
    ),
    running=Running(dtype="bfloat16", attention="pallas", remat="dots"),
    task=Pretraining(corpora=("enwiki/pretraining",), authors=True),
    data=Data(batch_size=2048, evaluation_batch_size=512, workers=8),
    optimizer=Optimizer(learning_rate=1e-5, beta2=0.999, frozen=("luke/pooler",)),
    schedule=Schedule(warmup_steps=2500),
    run=Run(
      steps=98_168,
      accumulation=1,
      start="runs/luke-large-stage1",
      save_every=1000,
      log_every=50,
      evaluate_every=5000,
    ),
  )
