"""Questions about things whose names tell nothing, with what pretraining knows of them.

The test asks about things that training does not: a model can only choose by what the vectors of
the linked entities have from pretraining. Chance is 25 %. Two minutes on two CPU cores.
namesakes.sh does all of it for a seed, after the first two of these:

    python -m data.namesakes.generate datasets/namesakes
    luke-jax wiki build datasets/namesakes/namesakeswiki-pages-articles-multistream.xml.bz2 \\
      --language en --tokenizer data/sample_wiki/tokenizer --entities 611 --max-words 48 \\
      --max-entities 16 --unknown-entities skip --output datasets/namesakes/records
    luke-jax train experiments/namesakes.py:pretraining --output runs/namesakes
    luke-jax export runs/namesakes runs/namesakes-model
    luke-jax experiment run experiments/namesakes.py:questions --seeds 1

Original attention is --set model.use_entity_aware_attention=false.
"""

import dataclasses
from pathlib import Path

from luke_jax.pipeline.batches import Data
from luke_jax.systems.luke import LukeConfig
from luke_jax.tasks.qa.task import QuestionAnswering
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.experiment_files import load_experiment
from luke_jax.training.optimizer import Optimizer
from luke_jax.training.overrides import row

MODEL = "runs/namesakes-model"


def tiny() -> Experiment:
  """Returns the pretraining of a tiny LUKE."""
  return load_experiment(Path(__file__).with_name("pretraining.py:tiny"))


def questions() -> Experiment:
  """Returns the experiment of questions."""
  files = {name: f"datasets/namesakes/{name}.jsonl" for name in ("train", "dev", "test")}
  return Experiment(
    # One more than in pretraining: the export adds [MASK2].
    model=dataclasses.replace(tiny().model, entity_vocab_size=612),
    task=QuestionAnswering(**files, text=MODEL, words=64, entities=8),
    data=Data(batch_size=16, evaluation_batch_size=64),
    # The vectors of entities stay: those of the test's things would not move with the others.
    optimizer=Optimizer(
      learning_rate=1e-3, bias_correction=True, frozen=LukeConfig.recipes["qa"].frozen
    ),
    run=Run(epochs=14, start=MODEL),
  )


ROWS = {
  "pretraining": row(
    tiny,
    *("model.entity_vocab_size=611", "task.corpora=datasets/namesakes/records/pretraining"),
    *("run.steps=3000", "run.evaluate_every=1000", "run.save_every=1000"),
  ),
  "questions": row(questions, table="Namesakes", method="entity-aware attention", split="test"),
}
