"""Named entities of MSRA-NER with ERNIE 1.0 of Baidu, a published row.

As published: F1 95.0 on dev and 93.8 on test, means of five runs at their best dev score; batches
of 16, 3 epochs, rate 5e-5, no warm-up, 256 characters, a softmax over 7 tags. BERT has 94.0 and
92.6. The files are those of Baidu: characters and tags in the columns text_a and label, joined by
the control character 2.

    luke-jax experiment run experiments/ernie_baidu/msra_ner.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.pipeline.batches import Data
from luke_jax.tasks.tagging.task import Tagging
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {
  "table": "ERNIE of Baidu: MSRA-NER, test",
  "method": "ERNIE 1.0",
  "split": "test",
  "f1": 93.8,
}
TAGS = (*(f"{part}-{label}" for label in ("PER", "ORG", "LOC") for part in "BI"), "O")


def config() -> Experiment:
  """The experiment."""
  sentiments = load_experiment(Path(__file__).with_name("chn_senti_corp.py"))
  files = {split: f"task_data/msra_ner/{split}.tsv" for split in ("train", "dev", "test")}
  return dataclasses.replace(
    sentiments,
    task=Tagging(**files, text="ernie-1.0", labels=TAGS, words=256, context=False),
    data=Data(batch_size=16, evaluation_batch_size=128),
    run=dataclasses.replace(sentiments.run, epochs=3, evaluate_every=500, best_metric="f1"),
  )
