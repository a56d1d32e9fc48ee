"""Inference, the Chinese part of XNLI, with ERNIE 1.0 of Baidu, a published row.

As published: accuracy 79.9 on dev and 78.4 on test, means of five runs at their best dev score; 3
epochs, rate 1e-4, no warm-up, batches of 8,192 characters on each of 8 devices, here 512 rows of
128. BERT has 78.1 and 77.2.

    luke-jax experiment run experiments/ernie_baidu/xnli.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.pipeline.batches import Data
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "ERNIE of Baidu: XNLI, test",
  "method": "ERNIE 1.0",
  "split": "test",
  "accuracy": 78.4,
}


def config() -> Experiment:
  """The experiment."""
  sentiments = load_experiment(Path(__file__).with_name("chn_senti_corp.py"))
  files = {split: f"task_data/xnli/{split}.tsv" for split in ("train", "dev", "test")}
  labels = ("contradiction", "entailment", "neutral")
  return dataclasses.replace(
    sentiments,
    task=dataclasses.replace(sentiments.task, **files, labels=labels, words=128),
    data=Data(batch_size=512, evaluation_batch_size=512),
    optimizer=dataclasses.replace(sentiments.optimizer, learning_rate=1e-4),
    run=dataclasses.replace(sentiments.run, epochs=3, evaluate_every=250),
  )
