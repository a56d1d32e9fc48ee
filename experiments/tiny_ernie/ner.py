"""Chinese named entities of UNER (GSDSIMP) with a tiny ERNIE of Baidu.

The files are train.iob2, dev.iob2 and test.iob2 in uner_zh_gsdsimp; tiny-ernie is what
pretraining.py made. Not a row of a paper; results.md has what was measured.

    luke-jax experiment run experiments/tiny_ernie/ner.py --seeds 1..3
"""

import dataclasses
from pathlib import Path

from luke_jax.pipeline.batches import Data
from luke_jax.tasks.tagging.task import Tagging
from luke_jax.training.experiment import Experiment, Run, load_experiment
from luke_jax.training.optimizer import Optimizer, Schedule

PAPER = {"table": "Tiny ERNIE: UNER Chinese, test", "method": "tiny ERNIE", "split": "test"}
TAGS = ("O", *(f"{part}-{label}" for label in ("LOC", "ORG", "PER") for part in "BI"))


def config() -> Experiment:
  """The experiment."""
  files = {split: f"uner_zh_gsdsimp/{split}.iob2" for split in ("train", "dev", "test")}
  pretrained = load_experiment(Path(__file__).with_name("pretraining.py")).model
  return Experiment(
    model=dataclasses.replace(
      pretrained, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1
    ),
    task=Tagging(
      **files,
      text="tiny-ernie",
      labels=TAGS,
      words=136,
      context=False,
      language="zh",
      columns=("_", "word", "tag", "_", "_"),
    ),
    data=Data(batch_size=32, evaluation_batch_size=64, lengths=4),
    optimizer=Optimizer(learning_rate=5e-4, beta2=0.999, max_gradient_norm=1.0),
    schedule=Schedule(warmup_ratio=0.1),
    run=Run(epochs=10, start="tiny-ernie", evaluate_every=250, best_metric="f1"),
  )
