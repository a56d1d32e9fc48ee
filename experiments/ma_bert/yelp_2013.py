"""Ratings of Yelp 2013 from 1 to 5 by text, user and product, with a MA-BERT.

The paper's figures could not be verified, see docs/ma-bert.md. The recipe is that of imdb.py. The
files are those of Tang et al. (2015), which you bring.

    luke-jax experiment run experiments/ma_bert/yelp_2013.py --seeds 1..3
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment

PAPER = {"table": "MA-BERT: Yelp 2013, test", "method": "MA-BERT", "split": "test"}


def config() -> Experiment:
  """The experiment."""
  imdb = load_experiment(Path(__file__).with_name("imdb.py"))
  splits = ("train", "dev", "test")
  files = {split: f"ma-bert-data/yelp-2013-seg-20-20.{split}.ss" for split in splits}
  return dataclasses.replace(
    imdb,
    task=dataclasses.replace(imdb.task, **files, labels=tuple("12345")),
    run=dataclasses.replace(imdb.run, evaluate_every=1953),
  )
