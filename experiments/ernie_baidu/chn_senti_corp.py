"""Sentiments of ChnSentiCorp with ERNIE 1.0 of Baidu, a published row.

As published: accuracy 95.2 on dev and 95.4 on test, means of five runs at their best dev score;
batches of 24, 10 epochs, rate 5e-5, no warm-up, 256 characters. BERT has 94.6 and 94.3. The files
are those of Baidu, with the columns label and text_a.

    luke-jax experiment run experiments/ernie_baidu/chn_senti_corp.py --seeds 1..5
"""

from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule

PAPER = {
  "table": "ERNIE of Baidu: ChnSentiCorp, test",
  "method": "ERNIE 1.0",
  "split": "test",
  "accuracy": 95.4,
}


def config() -> Experiment:
  """The experiment."""
  return Experiment(
    model=SIZES["ernie-1.0"],
    running=Running(dtype="bfloat16"),
    task=TextClassification(
      train="task_data/chnsenticorp/train.tsv",
      dev="task_data/chnsenticorp/dev.tsv",
      test="task_data/chnsenticorp/test.tsv",
      text="ernie-1.0",
      labels=("0", "1"),
      words=256,
    ),
    data=Data(batch_size=24, evaluation_batch_size=128),
    optimizer=Optimizer(learning_rate=5e-5, beta2=0.999, max_gradient_norm=1.0),
    schedule=Schedule(warmup_steps=0),
    run=Run(epochs=10, start="ernie-1.0", evaluate_every=100, best_metric="accuracy"),
  )
