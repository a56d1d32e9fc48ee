"""Prints how much of the words of training batches is padding, by the number of lengths.

    python -m benchmarks.own_data.padding ner politics/train.txt

The model is `english`, from `luke-jax get english`, and nothing is trained. The length that
`luke-jax train` chooses has a star.
"""

import sys

import numpy as np

from luke_jax.files import Path
from luke_jax.pipeline.batches import Lengths, TrainingBatches
from luke_jax.runs.recipes import task_experiment
from luke_jax.training.experiment import Experiment

EPOCHS, MOST = 8, 8


def shares(experiment: Experiment) -> dict[int, float]:
  """Returns the share of padding by the number of lengths."""
  task, size = experiment.task, experiment.data.batch_size
  records = task.engine().records(experiment.backbone, "train")
  lengths, found = task.engine().lengths(records), {}
  for number in range(1, MOST + 1):
    rooms = Lengths.of(lengths, number, task.words)
    batches = TrainingBatches(records, tuple, 0, size, 1, np.arange(size), rooms)
    numbers = range(EPOCHS * len(records) // size)
    words = sum(lengths[batches.record_ids(x)].sum() for x in numbers)
    found[number] = 1 - words / sum(size * rooms.room(batches.record_ids(x)) for x in numbers)
  return found


def main() -> None:
  """Prints a line for each number of lengths."""
  task, file = sys.argv[1:]
  experiment = task_experiment(task, (file, None), Path("english"), [])
  for number, share in shares(experiment).items():
    print(f"{number}{'*' if number == experiment.data.lengths else ''}: {share:.0%}")


if __name__ == "__main__":
  main()
