"""Questions about things whose names tell nothing, with what pretraining knows of them.

    luke-jax experiment run experiments/namesakes/questions.py --seeds 1 \\
      --set run.start=runs/namesakes-model --set task.text=runs/namesakes-model

starts from a model that pretraining.py made; run.sh does all of it for a seed. The test asks about
things that training does not: a model can only choose by what the vectors of the linked entities
have from pretraining. Chance is 25 %. Two minutes on two CPU cores.
"""

import dataclasses
from pathlib import Path

from luke_jax.pipeline.batches import Data
from luke_jax.systems.luke import LukeConfig
from luke_jax.tasks.qa.task import QuestionAnswering
from luke_jax.training.experiment import Experiment, Run, load_experiment
from luke_jax.training.optimizer import Optimizer

PAPER = {"table": "Namesakes", "method": "entity-aware attention", "split": "test"}
MODEL = "runs/namesakes-model"


def config() -> Experiment:
  """The experiment."""
  pretraining = load_experiment(Path(__file__).with_name("pretraining.py"))
  files = {name: f"datasets/namesakes/{name}.jsonl" for name in ("train", "dev", "test")}
  return Experiment(
    # One more than in pretraining: the export adds [MASK2].
    model=dataclasses.replace(pretraining.model, entity_vocab_size=612),
    task=QuestionAnswering(**files, text=MODEL, words=64, entities=8),
    data=Data(batch_size=16, evaluation_batch_size=64),
    # The vectors of entities stay: those of the test's things would not move with the others.
    optimizer=Optimizer(
      learning_rate=1e-3, bias_correction=True, frozen=LukeConfig.recipes["qa"].frozen
    ),
    run=Run(epochs=14, start=MODEL),
  )
