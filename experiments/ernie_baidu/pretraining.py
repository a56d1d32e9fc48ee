"""Pretraining of ERNIE 1.0 of Baidu with the settings of its released program.

A million steps, rate 1e-4 after 5,000 steps of warm-up, 8,192 characters on each of 8 devices, here
128 rows of 512; each file is masked by units in every epoch. The paper's corpus, of Wikipedia,
Baidu's encyclopaedia, news and forums, is not published. The stages of the paper, whose lengths are
not either, are pretraining_characters.py, pretraining_phrases.py and pretraining_entities.py.

    luke-jax wiki build zhwiki-pages-articles.xml.bz2 --tokenizer ernie-1.0 --until pages \\
      --output wiki/zh
    python -m data.ernie_baidu.units wiki/zh --tokenizer ernie-1.0 --segment jieba --output wiki.gz
    luke-jax train experiments/ernie_baidu/pretraining.py --output runs/ernie
    luke-jax export runs/ernie ernie

Hardware: v5e:2x4 or more. No corpus is needed to plan it:

    luke-jax plan experiments/ernie_baidu/pretraining.py --topology v5e:2x4
"""

from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.systems.ernie_baidu.pretraining import UnitPretraining
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule


def config() -> Experiment:
  """The experiment."""
  return Experiment(
    model=SIZES["ernie-1.0"],
    running=Running(dtype="bfloat16", remat="dots"),
    task=UnitPretraining(
      files=("wiki.gz",),
      text="ernie-1.0",
      levels=("phrase", "entity"),
      mask_mode="file",
      unit_shares=(1.1,),
    ),
    data=Data(batch_size=128, evaluation_batch_size=128, workers=4),
    optimizer=Optimizer(learning_rate=1e-4, beta2=0.999, max_gradient_norm=1.0),
    schedule=Schedule(warmup_steps=5000, decay="linear_from_0"),
    run=Run(steps=1_000_000, log_every=50, evaluate_every=10_000),
  )
