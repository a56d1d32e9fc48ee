"""A tiny LUKE that learns what the things of the namesakes are, whose names tell nothing.

    python -m data.namesakes.generate datasets/namesakes
    luke-jax wiki build datasets/namesakes/namesakeswiki-pages-articles-multistream.xml.bz2 \\
      --language en --tokenizer data/sample_wiki/tokenizer --entities 611 --max-words 48 \\
      --max-entities 16 --unknown-entities skip --output datasets/namesakes/records
    luke-jax train experiments/namesakes/pretraining.py --output runs/namesakes
    luke-jax export runs/namesakes runs/namesakes-model

Original attention is --set model.use_entity_aware_attention=false.
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, load_experiment


def config() -> Experiment:
  """The experiment."""
  plain = load_experiment(Path(__file__).parents[1] / "pretraining" / "tiny.py")
  task = dataclasses.replace(plain.task, corpora=("datasets/namesakes/records/pretraining",))
  return dataclasses.replace(
    plain,
    model=dataclasses.replace(plain.model, entity_vocab_size=611),
    task=task,
    run=dataclasses.replace(plain.run, steps=3000, evaluate_every=1000, save_every=1000),
  )
