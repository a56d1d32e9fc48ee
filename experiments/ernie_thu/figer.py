"""Entity typing on FIGER with ERNIE of Tsinghua, a row of the paper.

The paper: accuracy 57.19, macro F1 76.51, micro F1 73.39 on the test set of 563 mentions; batches
of 2048, 3 epochs, rate 2e-5, a fifth of the steps as warm-up, links with a score above .3. BERT has
52.04, 75.16 and 71.63. The likeliest type is predicted even if its logit is below 0. Labels are
those of train.json, which has two million examples.

    luke-jax experiment run experiments/ernie_thu/figer.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.pipeline.batches import Data
from luke_jax.tasks.files import Faults
from luke_jax.training.experiment import Experiment, load_experiment
from luke_jax.training.optimizer import Schedule

PAPER = {
  "table": "ERNIE of Tsinghua: FIGER, test",
  "method": "ERNIE",
  "split": "test",
  "strict_accuracy": 57.19,
  "macro_f1": 76.51,
  "f1": 73.39,
}


def config() -> Experiment:
  """The experiment."""
  open_entity = load_experiment(Path(__file__).with_name("open_entity.py"))
  files = {split: f"ernie-data/FIGER/{split}.json" for split in ("train", "dev", "test")}
  task = dataclasses.replace(open_entity.task, **files, labels=(), words=256, at_least_one=True)
  examples = task.read(Path(task.train), Faults())
  return dataclasses.replace(
    open_entity,
    task=dataclasses.replace(task, labels=task.found_labels(examples)),
    data=Data(batch_size=2048, evaluation_batch_size=128),
    schedule=Schedule(warmup_ratio=0.2, decay="constant"),
    run=dataclasses.replace(open_entity.run, epochs=3, accumulation=32, evaluate_every=200),
  )
