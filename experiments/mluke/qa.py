"""Questions of SQuAD 1.1, in English, with mLUKE-large; tested on XQuAD and MLQA.

The paper: F1 74.5 on MLQA in Spanish, 79.6 as the average of XQuAD (89.0 in English) and 67.7 as
that of G-XLT, whose questions are in another language than their passages; batches of 32, 2 epochs,
learning rate 2e-5. The figures are from a listing of its results.

MLQA's files have the languages of passage and question in their names: by these answers are
compared as its own script does. The paper's texts have entities; here task.mentions is empty, and
they have none, which is another row of it. docs/mluke-evaluations.md has the commands for the
other files.

    hf download studio-ousia/mluke-large --local-dir mluke-large
    luke-jax experiment run experiments/mluke/qa.py --seeds 1..5
"""

import dataclasses
from pathlib import Path

from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.qa.task import QuestionAnswering
from luke_jax.training.experiment import Experiment, Run, load_experiment

PAPER = {
  "table": "mLUKE: MLQA, Spanish",
  "method": "mLUKE-large",
  "split": "test",
  "f1": 74.5,
}


def config() -> Experiment:
  """The experiment."""
  relations = load_experiment(Path(__file__).with_name("relations.py"))
  optimizer = dataclasses.replace(
    relations.optimizer,
    learning_rate=2e-5,
    max_gradient_norm=5.0,
    frozen=("luke/entity_embeddings/entity",),
  )
  return dataclasses.replace(
    relations,
    model=SIZES["mluke-large"],
    task=QuestionAnswering(
      train="squad/train-v1.1.json",
      dev="squad/dev-v1.1.json",
      test="MLQA_V1/test/test-context-es-question-es.json",
      text="mluke-large",
    ),
    data=Data(batch_size=32, evaluation_batch_size=32),
    optimizer=optimizer,
    run=Run(epochs=2, seed=0, start="mluke-large"),
  )
