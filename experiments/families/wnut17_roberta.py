"""Names of WNUT-17 by tags for the words of a small RoBERTa that has read nothing else.

bash experiments/families/run.sh 1 results/families

RoBERTa's own weights are not among the free data; its vocabulary is: datasets/tokenizers/roberta.
"""

import dataclasses
from pathlib import Path

from luke_jax.models.system import Running
from luke_jax.systems.bert import RobertaConfig
from luke_jax.training.experiment import Experiment, Run, load_experiment
from luke_jax.training.optimizer import Optimizer

PAPER = {"table": "TENER: WNUT-17", "method": "RoBERTa, not pretrained", "split": "test"}
MARKERS = 2  # of entities, which follow the published vocabulary


def config() -> Experiment:
  """The experiment of wnut17_bert.py, as another system."""
  plain = load_experiment(Path(__file__).with_name("wnut17_bert.py"))
  return dataclasses.replace(
    plain,
    model=RobertaConfig(
      vocab_size=50265 + MARKERS,
      hidden_size=128,
      num_hidden_layers=4,
      num_attention_heads=4,
      intermediate_size=512,
    ),
    task=dataclasses.replace(plain.task, text="datasets/tokenizers/roberta"),
    running=Running(),
    optimizer=Optimizer(learning_rate=1e-3, average=0.99, bias_correction=True),
    run=Run(epochs=20, evaluate_every=212, best_metric="f1"),
  )
