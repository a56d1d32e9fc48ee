"""A tiny LUKE pretrained on the sample wiki, for the sample tasks to start from.

    luke-jax wiki build data/sample_wiki/samplewiki-pages-articles-multistream.xml.bz2 \\
      --tokenizer data/sample_wiki/tokenizer --entities 300 --max-words 64 --max-entities 16 \\
      --unknown-entities skip --output sample-wiki
    luke-jax train experiments/sample/pretraining.py --output runs/sample-luke
    luke-jax export runs/sample-luke sample-luke
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment
from luke_jax.training.overrides import load_experiment


def config() -> Experiment:
  """The experiment."""
  tiny = load_experiment(Path(__file__).parents[1] / "pretraining" / "tiny.py")
  model = dataclasses.replace(tiny.model, max_position_embeddings=162)  # room for the tasks
  masking = dataclasses.replace(tiny.task.masking, entities=0.3)
  task = dataclasses.replace(
    tiny.task, corpora=("sample-wiki/pretraining",), words=64, masking=masking
  )
  return dataclasses.replace(tiny, model=model, task=task)
