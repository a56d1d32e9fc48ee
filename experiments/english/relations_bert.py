"""Relations of two names in English text, by adapters over MiniLM: states of the markers' words.

    luke-jax get english
    python -m data.english.make ORIGINALS
    luke-jax experiment run experiments/english/relations_bert.py --seeds 1..3

data/english/README.md says what ORIGINALS holds.
"""

from luke_jax.convert.published import published
from luke_jax.models.system import Running
from luke_jax.pipeline.batches import Data
from luke_jax.runs.recipes import start_sizes
from luke_jax.tasks.relations.task import RelationClassification
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer

LABELS = (
  "child",
  "competition class",
  "constellation",
  "crosses",
  "follows",
  "located in or next to body of water",
  "main subject",
  "member of",
  "military rank",
  "mother",
  "original language of film or TV show",
  "part of",
  "position played on team / speciality",
  "sport",
  "spouse",
  "voice type",
)
PAPER = {"table": "English: relations", "method": "MiniLM", "split": "test"}


def config() -> Experiment:
  """The experiment."""
  backbone = published("english")
  return Experiment(
    model=start_sizes(RelationClassification, backbone),
    task=RelationClassification(
      train="datasets/english/relations/train.jsonl",
      dev="datasets/english/relations/dev.jsonl",
      test="datasets/english/relations/test.jsonl",
      text=str(backbone),
      labels=LABELS,
      words=64,
    ),
    running=Running(dtype="bfloat16"),
    data=Data(batch_size=32, evaluation_batch_size=64, lengths=4),
    optimizer=Optimizer(learning_rate=2e-3, adapter=16, average=0.99, bias_correction=True),
    run=Run(epochs=3, start=str(backbone)),
  )
