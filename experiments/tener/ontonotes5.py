r"""OntoNotes 5 with TENER, a row of the paper.

The paper: F1 88.43 ± .12 on the test set; the plain transformer 86.73.
Batches of 16, 100 epochs, rate 7e-4, attention of 8 x 96.
Files in the form of CoNLL-2012, those of a split in one; GloVe's vectors.

    luke-jax new tener-data/ontonotes5/fresh --size tener-ontonotes5 \
      --train tener-data/ontonotes5/train.conll \
      --also tener-data/ontonotes5/dev.conll --also tener-data/ontonotes5/test.conll \
      --vectors glove.6B.100d.txt --digits-as-zero
    luke-jax experiment run experiments/tener/ontonotes5.py --seeds 1..5
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

PAPER = {"table": "TENER: OntoNotes 5, test", "method": "TENER", "split": "test", "f1": 88.43}


def config() -> Experiment:
  """The experiment."""
  start = "tener-data/ontonotes5/fresh"
  task = Tagging(
    train="tener-data/ontonotes5/train.conll",
    dev="tener-data/ontonotes5/dev.conll",
    test="tener-data/ontonotes5/test.conll",
    text=start,
    words=256,
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
    optimizer=Optimizer(7e-4, kind="sgd", max_gradient=5.0, weight_decay=0.0),
    schedule=Schedule(warmup_ratio=0.01),
    run=Run(epochs=100, start=start, evaluate_every=math.ceil(sentences / 16), best_metric="f1"),
  )
