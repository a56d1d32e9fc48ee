"""Answers to questions about English text, by adapters over MiniLM: no entities are read.

    luke-jax get english
    python -m data.english.make ORIGINALS
    luke-jax experiment run experiments/english/qa_bert.py --seeds 1..3

data/english/README.md says what ORIGINALS holds.
"""

from luke_jax.convert.published import published
from luke_jax.models.system import Running
from luke_jax.pipeline.batches import Data
from luke_jax.runs.recipes import start_sizes
from luke_jax.tasks.qa.task import QuestionAnswering
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer

PAPER = {"table": "English: qa", "method": "MiniLM", "split": "test"}


def config() -> Experiment:
  """The experiment."""
  backbone = published("english")
  return Experiment(
    model=start_sizes(QuestionAnswering, backbone),
    task=QuestionAnswering(
      train="datasets/english/qa/train.json",
      dev="datasets/english/qa/test.json",
      test="datasets/english/qa/test.json",
      text=str(backbone),
      words=256,
      question_words=40,
      stride=128,
    ),
    running=Running(dtype="bfloat16"),
    data=Data(batch_size=16, evaluation_batch_size=32, lengths=4),
    optimizer=Optimizer(learning_rate=2e-3, adapter=16, average=0.99, bias_correction=True),
    run=Run(epochs=3, start=str(backbone)),
  )
