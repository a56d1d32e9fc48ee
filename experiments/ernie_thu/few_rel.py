"""Relations on FewRel with ERNIE of Tsinghua, a row of the paper.

The paper: precision 88.49, recall 88.44, F1 88.32 on the test set; batches of 32, 10 epochs, rate
2e-5. BERT has 85.05, 85.11 and 84.89. The split is that of the authors (8,000, 16,000 and 16,000 of
80 relations), whose files come with the entities of head and tail. Labels are those of train.json.

    luke-jax experiment run experiments/ernie_thu/few_rel.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.files import Faults
from luke_jax.tasks.relations.task import RelationClassification
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule

PAPER = {
  "table": "ERNIE of Tsinghua: FewRel, test",
  "method": "ERNIE",
  "split": "test",
  "precision": 88.49,
  "recall": 88.44,
  "f1": 88.32,
}


def config() -> Experiment:
  """The experiment."""
  model = SIZES["ernie-thu-base"]
  task = RelationClassification(
    train="ernie-data/fewrel/train.json",
    dev="ernie-data/fewrel/dev.json",
    test="ernie-data/fewrel/test.json",
    text="ernie-thu-base",
    vectors="kg_embed",
    words=256,
  )
  examples = task.read(Path(task.train), Faults())
  return Experiment(
    model=model,
    running=Running(dtype="bfloat16"),
    task=dataclasses.replace(task, labels=task.found_labels(examples)),
    data=Data(batch_size=32, evaluation_batch_size=128),
    optimizer=Optimizer(
      learning_rate=2e-5, beta2=0.999, max_gradient_norm=1.0, frozen=model.unread
    ),
    schedule=Schedule(warmup_ratio=0.1, decay="constant"),
    run=Run(epochs=10, start="ernie-thu-base", evaluate_every=250, best_metric="f1"),
  )
