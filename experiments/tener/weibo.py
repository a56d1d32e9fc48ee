r"""Weibo with TENER, a row of the paper.

The paper: F1 58.17 ± .22 on the test set; the plain transformer 46.38.
Batches of 16, 100 epochs, rate 1e-3, attention of 4 x 32.
Lines of a character and its tag.

    luke-jax new tener-data/weibo/fresh --size tener-weibo \
      --train tener-data/weibo/train.txt \
      --also tener-data/weibo/dev.txt --also tener-data/weibo/test.txt \
      --bigrams --character-encoder none \
      --vectors characters.vec --bigram-vectors bigrams.vec
    luke-jax experiment run experiments/tener/weibo.py --seeds 1..5
"""

import dataclasses
import math
from pathlib import Path

from luke_jax.pipeline.batches import Data
from luke_jax.runs.recipes import start_sizes
from luke_jax.tasks.files import Faults
from luke_jax.tasks.tagging.task import Tagging
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule

PAPER = {"table": "TENER: Weibo, test", "method": "TENER", "split": "test", "f1": 58.17}


def config() -> Experiment:
  """The experiment."""
  start = "tener-data/weibo/fresh"
  task = Tagging(
    train="tener-data/weibo/train.txt",
    dev="tener-data/weibo/dev.txt",
    test="tener-data/weibo/test.txt",
    text=start,
    words=192,
    scheme="BMESO",
    crf=True,
    context=False,
  )
  examples = task.read(Path(task.train), Faults())
  sentences = sum(len(example.sentences) for example in examples)
  return Experiment(
    model=start_sizes(task, Path(start)),
    task=dataclasses.replace(task, labels=task.found_labels(examples)),
    data=Data(batch_size=16, evaluation_batch_size=64),
    optimizer=Optimizer(1e-3, kind="sgd", max_gradient=5.0, weight_decay=0.0),
    schedule=Schedule(warmup_ratio=0.01),
    run=Run(epochs=100, start=start, evaluate_every=math.ceil(sentences / 16), best_metric="f1"),
  )
