"""ERNIE 1.0 of Baidu: its pretraining, and the published rows of its tasks.

Pretraining has the settings of the released program: a million steps, rate 1e-4 after 5,000 steps
of warm-up, 8,192 characters on each of 8 devices, here 128 rows of 512; each file is masked by
units in every epoch. The paper's corpus, of Wikipedia, Baidu's encyclopaedia, news and forums, is
not published. Nor is how long the stages of the paper are, of single characters, phrases and
entities: here each has 100,000 steps, with its own warm-up.

    luke-jax wiki build zhwiki-pages-articles.xml.bz2 --tokenizer ernie-1.0 --until pages \\
      --output wiki/zh
    python -m data.ernie_baidu.units wiki/zh --tokenizer ernie-1.0 --segment jieba --output wiki.gz
    luke-jax train experiments/ernie_baidu.py:pretraining --output runs/ernie
    luke-jax export runs/ernie ernie

Hardware: v5e:2x4 or more. No corpus is needed to plan it:

    luke-jax plan experiments/ernie_baidu.py:pretraining --topology v5e:2x4

Published scores are means of five runs at their best dev score, without warm-up. Files are those of
Baidu, with the columns label, text_a and text_b; those of DBQA have qid too.

    luke-jax experiment run experiments/ernie_baidu.py:chn-senti-corp --seeds 1..5
"""

import dataclasses

from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.systems.ernie_baidu.pretraining import UnitPretraining
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.tasks.tagging.task import Tagging
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.experiment_files import Row
from luke_jax.training.optimizer import Optimizer, Schedule
from luke_jax.training.overrides import row

TAGS = (*(f"{part}-{label}" for label in ("PER", "ORG", "LOC") for part in "BI"), "O")


def pretraining() -> Experiment:
  """Returns the pretraining of the released program."""
  return Experiment(
    model=SIZES["ernie-1.0"],
    running=Running(dtype="bfloat16", remat="dots"),
    task=UnitPretraining(
      files=("wiki.gz",),
      text="ernie-1.0",
      levels=("phrase", "entity"),
      mask_mode="file",
      unit_shares=(1.1,),
    ),
    data=Data(batch_size=128, evaluation_batch_size=128, workers=4),
    optimizer=Optimizer(learning_rate=1e-4, beta2=0.999, max_gradient_norm=1.0),
    schedule=Schedule(warmup_steps=5000, decay="linear_from_0"),
    run=Run(steps=1_000_000, log_every=50, evaluate_every=10_000),
  )


def classification() -> Experiment:
  """Returns the settings that the tasks share."""
  return Experiment(
    model=SIZES["ernie-1.0"],
    running=Running(dtype="bfloat16"),
    task=TextClassification(text="ernie-1.0", labels=("0", "1")),
    data=Data(evaluation_batch_size=128),
    optimizer=Optimizer(learning_rate=5e-5, beta2=0.999, max_gradient_norm=1.0),
    schedule=Schedule(warmup_steps=0),
    run=Run(epochs=3, start="ernie-1.0", best_metric="accuracy"),
  )


def tagging() -> Experiment:
  """Returns a softmax over seven tags, of files that the control character 2 joins."""
  task = Tagging(text="ernie-1.0", labels=TAGS, context=False)
  return dataclasses.replace(classification(), task=task)


def files(folder: str) -> tuple[str, ...]:
  """Returns the changes by which a task reads its files."""
  return tuple(f"task.{x}=task_data/{folder}/{x}.tsv" for x in ("train", "dev", "test"))


def stage(mixture: str, start: str = "null") -> Row:
  """Returns a stage of the paper's pretraining by its shares of characters, phrases, entities."""
  masks = ("task.mask_mode=mixture", "task.unit_shares=", f"task.mixture={mixture}")
  return row(pretraining, *masks, "run.steps=100000", f"run.start={start}")


XNLI = (
  *files("xnli"),
  *("task.labels=contradiction,entailment,neutral", "task.words=128"),
  *("data.batch_size=512", "data.evaluation_batch_size=512"),  # 8,192 characters on 8 devices
  *("optimizer.learning_rate=1e-4", "run.evaluate_every=250"),
)


def published(table: str) -> dict[str, str]:
  """Returns what says where a published score is from."""
  return {"table": f"ERNIE of Baidu: {table}, test", "method": "ERNIE 1.0", "split": "test"}


def ablation(method: str, accuracy: float) -> Row:
  """Returns XNLI after a stage of pretraining, which is known only at second hand."""
  start = f"ernie-{method.split()[-1]}"
  table = "ERNIE of Baidu: XNLI, test, a tenth of the data (unverified)"
  changes = (*XNLI, f"task.text={start}", f"run.start={start}")
  paper = {"table": table, "method": method, "split": "test", "accuracy": accuracy}
  return row(classification, *changes, **paper)


ROWS = {
  "pretraining": row(pretraining),
  # Each starts from what `luke-jax export` makes of the one before.
  "pretraining-characters": stage("1,0,0"),
  "pretraining-phrases": stage("0,1,0", "ernie-characters"),
  "pretraining-entities": stage("0,0,1", "ernie-phrases"),
  # Accuracy 95.2 on dev. BERT has 94.6, and 94.3 on test.
  "chn-senti-corp": row(
    classification,
    *(*files("chnsenticorp"), "task.words=256", "data.batch_size=24"),
    *("run.epochs=10", "run.evaluate_every=100"),
    **published("ChnSentiCorp"),
    accuracy=95.4,
  ),
  # MRR 95.0 and F1 82.3 on dev. BERT has MRR 94.7 and F1 80.7, and MRR 94.6 and F1 80.8 on test.
  "dbqa": row(
    classification,
    *(*files("nlpcc-dbqa"), "task.words=512", "data.batch_size=64"),
    *("optimizer.learning_rate=2e-5", "run.evaluate_every=1000", "run.best_metric=mrr"),
    **published("NLPCC-DBQA"),
    mrr=95.1,
    f1=82.7,
  ),
  # Accuracy 89.7 on dev. BERT has 88.8, and 87.0 on test.
  "lcqmc": row(
    classification,
    *(*files("lcqmc"), "task.words=128", "data.batch_size=32", "data.evaluation_batch_size=256"),
    *("optimizer.learning_rate=2e-5", "optimizer.weight_decay=0", "run.evaluate_every=1000"),
    **published("LCQMC"),
    accuracy=87.4,
  ),
  # F1 95.0 on dev. BERT has 94.0, and 92.6 on test.
  "msra-ner": row(
    tagging,
    *(*files("msra_ner"), "task.words=256", "data.batch_size=16"),
    *("run.evaluate_every=500", "run.best_metric=f1"),
    **published("MSRA-NER"),
    f1=93.8,
  ),
  # Accuracy 79.9 on dev. BERT has 78.1, and 77.2 on test.
  "xnli": row(classification, *XNLI, **published("XNLI"), accuracy=78.4),
  # Dev: 77.7, 78.3 and 78.7.
  "xnli-characters": ablation("characters", 76.8),
  "xnli-phrases": ablation("and phrases", 77.3),
  "xnli-entities": ablation("and entities", 77.6),
}
