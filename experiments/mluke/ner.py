"""Named entities of CoNLL-2003, in English, with mLUKE-large; tested in four languages.

The authors' repository, of their published model: F1 94.1 in English, 78.8 in German, 82.4 in Dutch
and 82.2 in Spanish; batches of 8, 5 epochs, learning rate 1e-5, the best epoch on the development
set.

The German files are those of CoNLL-2003, the Dutch and Spanish ones those of CoNLL-2002, all in
Latin-1: docs/mluke-evaluations.md has the commands that read them.

    hf download studio-ousia/mluke-large --local-dir mluke-large
    luke-jax data build conll2003 --manual-dir DOWNLOADED --output datasets
    luke-jax experiment run experiments/mluke/ner.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.pipeline.batches import Data
from luke_jax.tasks.ner.task import NamedEntities
from luke_jax.training.experiment import Experiment, Run, load_experiment

DATA = "datasets/conll2003/1.0.0"
PAPER = {
  "table": "mLUKE: CoNLL-2003, test",
  "method": "mLUKE-large",
  "split": "test",
  "f1": 94.1,
}


def config() -> Experiment:
  """The experiment."""
  relations = load_experiment(Path(__file__).with_name("relations.py"))
  return dataclasses.replace(
    relations,
    task=NamedEntities(
      train=f"{DATA}:train",
      dev=f"{DATA}:dev",
      test=f"{DATA}:test",
      text="mluke-large",
      labels=("NIL", "MISC", "PER", "ORG", "LOC"),
      every_word_spaced=True,
    ),
    data=Data(batch_size=8, evaluation_batch_size=32),
    optimizer=dataclasses.replace(relations.optimizer, max_gradient_norm=5.0),
    run=Run(epochs=5, seed=0, start="mluke-large", evaluate_every=1756, best_metric="f1"),
  )
