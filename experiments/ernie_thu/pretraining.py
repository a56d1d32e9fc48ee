"""Pretraining of ERNIE of Tsinghua as its authors did it.

One epoch over English Wikipedia from bert-base-uncased, pairs of 256 word pieces, batches of 512,
rate 5e-5; the entities' parts begin at random. The authors took a day on eight RTX 2080 Ti in
float16; here products are bfloat16.

    luke-jax wiki build enwiki-pages-articles.xml.bz2 --tokenizer bert-base-uncased \\
      --until titles --output wiki/en
    python -m data.ernie_thu.pairs wiki/en --vectors kg_embed --titles entity_map.txt \\
      --tokenizer bert-base-uncased --output pairs.bin
    luke-jax train experiments/ernie_thu/pretraining.py --output runs/ernie-thu
    luke-jax export runs/ernie-thu ernie-thu-base

Hardware: v5e:2x4 or more. No corpus is needed to plan it:

    luke-jax plan experiments/ernie_thu/pretraining.py --topology v5e:2x4 --set run.epochs=null \\
      --set run.steps=100000
"""

from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.systems.ernie_thu.pretraining import AlignedPretraining
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule


def config() -> Experiment:
  """The experiment."""
  model = SIZES["ernie-thu-base"]
  return Experiment(
    model=model,
    running=Running(dtype="bfloat16", attention="pallas", remat="dots"),
    task=AlignedPretraining(pairs="pairs.bin", vectors="kg_embed", text="bert-base-uncased"),
    data=Data(batch_size=512, evaluation_batch_size=256, workers=4),
    optimizer=Optimizer(
      learning_rate=5e-5, beta2=0.999, max_gradient_norm=1.0, frozen=model.unread
    ),
    schedule=Schedule(warmup_ratio=0.1, decay="constant"),
    run=Run(epochs=1, start="bert-base-uncased", log_every=50, evaluate_every=5000),
  )
