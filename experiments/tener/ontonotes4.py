r"""OntoNotes 4 in Chinese with TENER, a row of the paper.

The paper: F1 72.73 ± .39 on the test set; the plain transformer 66.49.
Batches of 16, 100 epochs, rate 7e-4, attention of 4 x 48.
Lines of a character and its tag; 50-d vectors of characters and bigrams.

    luke-jax new tener-data/ontonotes4/fresh --size tener-ontonotes4 \
      --train tener-data/ontonotes4/train.txt \
      --also tener-data/ontonotes4/dev.txt --also tener-data/ontonotes4/test.txt \
      --bigrams --least-bigrams 2 --character-encoder none \
      --vectors characters.vec --bigram-vectors bigrams.vec
    luke-jax experiment run experiments/tener/ontonotes4.py --seeds 1..5
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

PAPER = {
  "table": "TENER: OntoNotes 4 in Chinese, test",
  "method": "TENER",
  "split": "test",
  "f1": 72.73,
}


def config() -> Experiment:
  """The experiment."""
  start = "tener-data/ontonotes4/fresh"
  task = Tagging(
    train="tener-data/ontonotes4/train.txt",
    dev="tener-data/ontonotes4/dev.txt",
    test="tener-data/ontonotes4/test.txt",
    text=start,
    words=256,
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
    optimizer=Optimizer(7e-4, kind="sgd", max_gradient=5.0, weight_decay=0.0),
    schedule=Schedule(warmup_ratio=0.01),
    run=Run(epochs=100, start=start, evaluate_every=math.ceil(sentences / 16), best_metric="f1"),
  )
