"""Questions of the same meaning, LCQMC, with ERNIE 1.0 of Baidu, a published row.

As published: accuracy 89.7 on dev and 87.4 on test, means of five runs at their best dev score;
batches of 32, 3 epochs, rate 2e-5, no warm-up, no weight decay, 128 characters. BERT has 88.8 and
87.0.

    luke-jax experiment run experiments/ernie_baidu/lcqmc.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.pipeline.batches import Data
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "ERNIE of Baidu: LCQMC, test",
  "method": "ERNIE 1.0",
  "split": "test",
  "accuracy": 87.4,
}


def config() -> Experiment:
  """The experiment."""
  sentiments = load_experiment(Path(__file__).with_name("chn_senti_corp.py"))
  files = {split: f"task_data/lcqmc/{split}.tsv" for split in ("train", "dev", "test")}
  return dataclasses.replace(
    sentiments,
    task=dataclasses.replace(sentiments.task, **files, words=128),
    data=Data(batch_size=32, evaluation_batch_size=256),
    optimizer=dataclasses.replace(sentiments.optimizer, learning_rate=2e-5, weight_decay=0.0),
    run=dataclasses.replace(sentiments.run, epochs=3, evaluate_every=1000),
  )
