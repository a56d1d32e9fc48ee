"""A tiny LUKE pretrained on the sample wiki, for the sample tasks to start from.

    luke-jax wiki build data/sample_wiki/samplewiki-pages-articles-multistream.xml.bz2 \\
      --tokenizer data/sample_wiki/tokenizer --entities 300 --max-words 128 --max-entities 32 \\
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
  model = dataclasses.replace(tiny.model, max_position_embeddings=130)
  task = dataclasses.replace(
    tiny.task, corpora=("sample-wiki/pretraining",), words=128, entities=32, dev_records=100
  )
  data = dataclasses.replace(tiny.data, batch_size=12, evaluation_batch_size=24)
  return dataclasses.replace(tiny, model=model, task=task, data=data)
