"""Names of WNUT-17 by tags for words and a chain, from MiniLM: the six types of TENER's experiment.

    luke-jax get english
    bash experiments/families/run.sh 1 results/families

run.sh makes datasets/tener/wnut17 as experiments/tener/run.sh does.
"""

from luke_jax.convert.published import published
from luke_jax.models.system import Running
from luke_jax.pipeline.batches import Data
from luke_jax.runs.recipes import start_sizes
from luke_jax.tasks.tagging.task import Tagging
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer

PAPER = {"table": "TENER: WNUT-17", "method": "BERT (MiniLM)", "split": "test"}
TYPES = ("corporation", "creative-work", "group", "location", "person", "product")


def config() -> Experiment:
  """The experiment."""
  start, folder = published("english"), "datasets/tener/wnut17"
  return Experiment(
    model=start_sizes(Tagging, start),
    task=Tagging(
      **{split: f"{folder}/{split}.conll" for split in ("train", "dev", "test")},
      text=str(start),
      labels=("O", *(f"{part}-{kind}" for kind in TYPES for part in "BI")),
      words=128,
      context=False,
      crf=True,
    ),
    running=Running(dtype="bfloat16"),
    data=Data(batch_size=32, evaluation_batch_size=64, lengths=4),
    optimizer=Optimizer(learning_rate=3e-4, average=0.99, bias_correction=True),
    run=Run(epochs=4, start=str(start), evaluate_every=106, best_metric="f1"),
  )
