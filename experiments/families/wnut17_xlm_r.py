"""Names of WNUT-17 by tags for the words of a small XLM-R that has read nothing else.

bash experiments/families/run.sh 1 results/families

XLM-R's weights and vocabulary are not among the free data; datasets/tokenizers/sentencepiece has
another vocabulary of SentencePiece, of 1,000 pieces.
"""

import dataclasses
from pathlib import Path

from luke_jax.systems.bert import XlmRobertaConfig
from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "TENER: WNUT-17", "method": "XLM-R, not pretrained", "split": "test"}
PIECES = 1004  # with the markers of entities and the mask


def config() -> Experiment:
  """The experiment of wnut17_roberta.py, as another system."""
  plain = load_experiment(Path(__file__).with_name("wnut17_roberta.py"))
  sizes = dataclasses.asdict(plain.model) | {"vocab_size": PIECES}
  text = "datasets/tokenizers/sentencepiece"
  task = dataclasses.replace(plain.task, text=text, words=192)  # an address has 151 pieces
  return dataclasses.replace(plain, model=XlmRobertaConfig(**sizes), task=task)
