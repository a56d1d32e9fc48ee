"""Relations of FewRel's 16 published ones: an ERNIE of Tsinghua that starts from a small real BERT.

What vectors of entities are worth where nothing was pretrained with them: the parts that read them
begin at random, and learn from 100 sentences of each relation. few_rel.sh trains it with
vectors of TransE, with the same vectors dealt to other entities, and as a BERT, whose layers are
all `sim`.

    luke-jax get english
    python -m data.few_rel.make ORIGINALS
    bash experiments/few_rel.sh 1 runs/few_rel

data/few_rel/README.md says what ORIGINALS holds.
"""

from luke_jax.convert.published import published
from luke_jax.convert.sources import read_backbone
from luke_jax.files import Path
from luke_jax.models.system import Running
from luke_jax.pipeline.batches import Data
from luke_jax.systems.ernie_thu import ErnieThuConfig
from luke_jax.systems.transe.task import graph_experiment
from luke_jax.tasks.relations.task import RelationClassification
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule
from luke_jax.training.overrides import row

LABELS = "P155 P177 P206 P2094 P25 P26 P361 P364 P40 P410 P412 P413 P463 P59 P641 P921"


def relations() -> Experiment:
  """Returns the experiment of relations with vectors of TransE."""
  backbone = published("english")
  model = read_backbone(backbone, ErnieThuConfig).config
  return Experiment(
    model=model,
    task=RelationClassification(
      train="datasets/few_rel/train.json",
      dev="datasets/few_rel/dev.json",
      test="datasets/few_rel/test.json",
      text=str(backbone),
      labels=tuple(LABELS.split()),
      vectors="runs/few_rel/graph/vectors",
      words=64,
    ),
    running=Running(dtype="bfloat16"),
    data=Data(batch_size=16, evaluation_batch_size=64),
    optimizer=Optimizer(
      learning_rate=2e-4,
      beta2=0.999,
      bias_correction=True,
      max_gradient_norm=1.0,
      frozen=model.unread,
    ),
    schedule=Schedule(warmup_ratio=0.1, decay="linear"),
    run=Run(epochs=3, start=str(backbone), evaluate_every=100, best_metric="f1"),
  )


ROWS = {
  "relations": row(
    relations, table="FewRel's 16 published relations", method="ERNIE from MiniLM", split="test"
  ),
  # Wikidata's items in FB15k-237 and CoDEx-S, as wide as ERNIE of Tsinghua's vectors.
  "graph": row(
    lambda: graph_experiment(Path("datasets/few_rel/graph")),
    *("model.hidden_size=100", "run.epochs=6", "run.evaluate_every=990", "task.dev_triples=500"),
  ),
}
