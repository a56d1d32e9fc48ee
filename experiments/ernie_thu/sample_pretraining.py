"""Pretraining of an ERNIE of Tsinghua from a real BERT of six layers, on the sample wiki.

The sample wiki's own facts are the graph. Its entities are invented, so neither the BERT nor its
words know them; docs/ernie-thu.md has what was measured. The vectors are TransE's, of the facts as
lines of `Q1<TAB>relation<TAB>Q2`; titles.tsv has the titles and Qids of entities.tsv.

    luke-jax wiki build data/sample_wiki/samplewiki-pages-articles-multistream.xml.bz2 \\
      --tokenizer english --until titles --output wiki
    python -m data.ernie_thu.pairs wiki --vectors kg_embed --titles titles.tsv \\
      --tokenizer english --words 64 --least-entities 3 --output pairs.bin

The directory of the BERT, in place of "english", is what `luke-jax get` prints:

    luke-jax get english
    luke-jax train experiments/ernie_thu/sample_pretraining.py --output runs/ernie \\
      --set run.start=$HOME/.cache/luke_jax/models/english \\
      --set task.text=$HOME/.cache/luke_jax/models/english
"""

from luke_jax.pipeline.batches import Data
from luke_jax.systems.ernie_thu import ErnieThuConfig
from luke_jax.systems.ernie_thu.pretraining import AlignedPretraining
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule

MODEL = ErnieThuConfig(
  hidden_size=384,
  num_hidden_layers=6,
  intermediate_size=1536,
)


def config() -> Experiment:
  """The experiment."""
  return Experiment(
    model=MODEL,
    task=AlignedPretraining(
      pairs="pairs.bin",
      vectors="kg_embed",
      text="english",
      words=64,
      masked=10,
      entities=16,
      held_out=0.1,
    ),
    data=Data(batch_size=16, evaluation_batch_size=32),
    optimizer=Optimizer(
      learning_rate=1e-3,
      beta2=0.999,
      bias_correction=True,
      max_gradient_norm=1.0,
      frozen=ErnieThuConfig.unread(MODEL),
    ),
    schedule=Schedule(warmup_ratio=0.1, decay="linear"),
    run=Run(steps=160, start="english", evaluate_every=40),
  )
