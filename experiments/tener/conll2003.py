r"""CoNLL-2003 with TENER, a row of the paper.

The paper: F1 91.43 ± .05 on the test set; the plain transformer 89.57.
Batches of 16, 100 epochs, rate 9e-4, attention of 14 x 128. Characters by a convolution.
The files are the corpus as it is distributed; GloVe's vectors.

    luke-jax new tener-data/conll2003/fresh --size tener-conll2003 \
      --train tener-data/conll2003/train.txt \
      --also tener-data/conll2003/dev.txt --also tener-data/conll2003/test.txt \
      --vectors glove.6B.100d.txt --digits-as-zero --character-encoder cnn
    luke-jax experiment run experiments/tener/conll2003.py --seeds 1..5
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

PAPER = {"table": "TENER: CoNLL-2003, test", "method": "TENER", "split": "test", "f1": 91.43}


def config() -> Experiment:
  """The experiment."""
  start = "tener-data/conll2003/fresh"
  task = Tagging(
    train="tener-data/conll2003/train.txt",
    dev="tener-data/conll2003/dev.txt",
    test="tener-data/conll2003/test.txt",
    text=start,
    words=128,
    scheme="BIOES",
    crf=True,
    context=False,
  )
  examples = task.read(Path(task.train), Faults())
  sentences = sum(len(example.sentences) for example in examples)
  return Experiment(
    model=start_sizes(task, Path(start)),
    task=dataclasses.replace(task, labels=task.found_labels(examples)),
    data=Data(batch_size=16, evaluation_batch_size=64),
    optimizer=Optimizer(9e-4, kind="sgd", max_gradient=5.0, weight_decay=0.0),
    schedule=Schedule(warmup_ratio=0.01),
    run=Run(epochs=100, start=start, evaluate_every=math.ceil(sentences / 16), best_metric="f1"),
  )
