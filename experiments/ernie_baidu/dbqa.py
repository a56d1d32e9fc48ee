"""Sentences that answer a question, NLPCC-DBQA, with ERNIE 1.0 of Baidu, a published row.

As published: MRR 95.0 and F1 82.3 on dev, MRR 95.1 and F1 82.7 on test, means of five runs at their
best dev score; batches of 8 on each of 8 devices, 3 epochs, rate 2e-5, no warm-up, 512 characters.
BERT has MRR 94.7 and F1 80.7, and MRR 94.6 and F1 80.8. Files have the columns qid, text_a, text_b
and label.

    luke-jax experiment run experiments/ernie_baidu/dbqa.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.pipeline.batches import Data
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "ERNIE of Baidu: NLPCC-DBQA, test",
  "method": "ERNIE 1.0",
  "split": "test",
  "mrr": 95.1,
  "f1": 82.7,
}


def config() -> Experiment:
  """The experiment."""
  sentiments = load_experiment(Path(__file__).with_name("chn_senti_corp.py"))
  files = {split: f"task_data/nlpcc-dbqa/{split}.tsv" for split in ("train", "dev", "test")}
  return dataclasses.replace(
    sentiments,
    task=dataclasses.replace(sentiments.task, **files, words=512),
    data=Data(batch_size=64, evaluation_batch_size=128),
    optimizer=dataclasses.replace(sentiments.optimizer, learning_rate=2e-5),
    run=dataclasses.replace(sentiments.run, epochs=3, evaluate_every=1000, best_metric="mrr"),
  )
