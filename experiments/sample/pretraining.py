"""A tiny LUKE pretrained on the sample wiki, for the sample tasks to start from.

    luke-jax wiki build data/sample_wiki/samplewiki-pages-articles-multistream.xml.bz2 \\
      --tokenizer data/sample_wiki/tokenizer --entities 300 --max-words 48 --max-entities 16 \\
      --unknown-entities skip --output sample
    luke-jax train experiments/sample/pretraining.py --output runs/sample-luke
    luke-jax export runs/sample-luke sample-luke

It is pretraining/tiny.py with room for the longer texts of the tasks.
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment
from luke_jax.training.overrides import load_experiment


def config() -> Experiment:
  """The experiment."""
  tiny = load_experiment(Path(__file__).parents[1] / "pretraining" / "tiny.py")
  model = dataclasses.replace(tiny.model, max_position_embeddings=162)
  return dataclasses.replace(tiny, model=model)
