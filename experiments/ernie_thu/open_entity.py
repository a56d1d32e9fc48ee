"""Entity typing on Open Entity with ERNIE of Tsinghua, a row of the paper.

The paper: precision 78.42, recall 72.90, F1 75.56 on the test set; batches of 16, 10 epochs, rate
2e-5, links with a score above .3. BERT has 76.37, 70.96 and 73.56. The files are the authors', with
1,998 examples each.

    luke-jax experiment run experiments/ernie_thu/open_entity.py --seeds 1..5
"""

from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.typing.task import EntityTyping
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule

LABELS = (
  "entity",
  "event",
  "group",
  "location",
  "object",
  "organization",
  "person",
  "place",
  "time",
)
PAPER = {
  "table": "ERNIE of Tsinghua: Open Entity, test",
  "method": "ERNIE",
  "split": "test",
  "precision": 78.42,
  "recall": 72.9,
  "f1": 75.56,
}


def config() -> Experiment:
  """The experiment."""
  model = SIZES["ernie-thu-base"]
  files = {split: f"ernie-data/OpenEntity/{split}.json" for split in ("train", "dev", "test")}
  return Experiment(
    model=model,
    running=Running(dtype="bfloat16"),
    task=EntityTyping(
      **files,
      text="ernie-thu-base",
      vectors="kg_embed",
      link_threshold=0.3,
      labels=LABELS,
      words=128,
    ),
    data=Data(batch_size=16, evaluation_batch_size=128),
    optimizer=Optimizer(
      learning_rate=2e-5, beta2=0.999, max_gradient_norm=1.0, frozen=model.unread
    ),
    schedule=Schedule(warmup_ratio=0.1, decay="constant"),
    run=Run(epochs=10, start="ernie-thu-base", evaluate_every=125, best_metric="f1"),
  )
