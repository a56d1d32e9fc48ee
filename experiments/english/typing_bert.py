"""Types of names in English text, by adapters over MiniLM: the state of the marker's word.

    luke-jax get english
    python -m data.english.make ORIGINALS
    luke-jax experiment run experiments/english/typing_bert.py --seeds 1..3

data/english/README.md says what ORIGINALS holds.
"""

from luke_jax.convert.published import published
from luke_jax.models.system import Running
from luke_jax.pipeline.batches import Data
from luke_jax.runs.recipes import start_sizes
from luke_jax.tasks.typing.task import EntityTyping
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer

LABELS = (
  "academic journal",
  "album",
  "algorithm",
  "astronomical object",
  "award",
  "band",
  "book",
  "chemical compound",
  "chemical element",
  "conference",
  "country",
  "discipline",
  "election",
  "enzyme",
  "event",
  "field of research",
  "literary genre",
  "location",
  "magazine",
  "measure",
  "music genre",
  "musical instrument",
  "musician",
  "organization",
  "other",
  "person",
  "poem",
  "political party",
  "politician",
  "product",
  "programming language",
  "protein",
  "researcher",
  "scientist",
  "song",
  "task of research",
  "theory",
  "university",
  "writer",
)
PAPER = {"table": "English: typing", "method": "MiniLM", "split": "test"}


def config() -> Experiment:
  """The experiment."""
  backbone = published("english")
  return Experiment(
    model=start_sizes(EntityTyping, backbone),
    task=EntityTyping(
      train="datasets/english/typing/train.jsonl",
      dev="datasets/english/typing/dev.jsonl",
      test="datasets/english/typing/test.jsonl",
      text=str(backbone),
      labels=LABELS,
      exclusive=True,
      words=96,
      skip_bad=True,  # the few sentences that are longer
    ),
    running=Running(dtype="bfloat16"),
    data=Data(batch_size=32, evaluation_batch_size=64, lengths=4),
    optimizer=Optimizer(learning_rate=2e-3, adapter=16, average=0.99, bias_correction=True),
    run=Run(epochs=1, start=str(backbone)),
  )
