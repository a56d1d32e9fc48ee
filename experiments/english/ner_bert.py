"""Names in English text, by adapters over MiniLM: spans by the states of their first and last word.

    luke-jax get english
    python -m data.english.make ORIGINALS
    luke-jax experiment run experiments/english/ner_bert.py --seeds 1..3

data/english/README.md says what ORIGINALS holds.
"""

from luke_jax.convert.published import published
from luke_jax.models.system import Running
from luke_jax.pipeline.batches import Data
from luke_jax.runs.recipes import start_sizes
from luke_jax.tasks.ner.task import NamedEntities
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer

PAPER = {"table": "English: ner", "method": "MiniLM", "split": "test"}


def config() -> Experiment:
  """The experiment."""
  backbone = published("english")
  return Experiment(
    model=start_sizes(NamedEntities, backbone),
    task=NamedEntities(
      train="datasets/english/ner/train.jsonl",
      dev="datasets/english/ner/dev.jsonl",
      test="datasets/english/ner/test_crossner.jsonl",
      text=str(backbone),
      labels=("NIL", "LOC", "MISC", "ORG", "PER"),
      words=64,
      span_words=10,
      skip_bad=True,  # a sentence with a line of 64 underscores
    ),
    running=Running(dtype="bfloat16"),
    # Without `lengths`, as the model of the box was trained.
    data=Data(batch_size=32, evaluation_batch_size=64),
    optimizer=Optimizer(learning_rate=2e-3, adapter=16, average=0.99, bias_correction=True),
    run=Run(epochs=3, start=str(backbone)),
  )
