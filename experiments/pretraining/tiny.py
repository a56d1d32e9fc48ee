"""A tiny LUKE from scratch on the sample wiki: it learns which names mean which entities.

    luke-jax wiki build data/sample_wiki/samplewiki-pages-articles-multistream.xml.bz2 \\
      --tokenizer data/sample_wiki/tokenizer --entities 300 --max-words 48 --max-entities 16 \\
      --unknown-entities skip --output sample
    luke-jax train experiments/pretraining/tiny.py --output runs/sample

Two CPU cores take a minute and a half. Of the masked entities on held-out pages it then finds 57
%, where whoever always says the most frequent one finds 4 %: `dev/entity_accuracy` beside
`dev/entity_majority`. data/sample_model is what `--set run.steps=7000 --set
run.evaluate_every=1000` makes of it: 75 %. Original attention is --set
model.use_entity_aware_attention=false.
"""

import dataclasses

from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.pipeline.rows import Masking
from luke_jax.tasks.pretraining import Pretraining
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule


def config() -> Experiment:
  """The experiment."""
  return Experiment(
    model=dataclasses.replace(
      SIZES["tiny"],
      vocab_size=2002,
      entity_vocab_size=300,
      entity_emb_size=64,
      num_attention_heads=4,
      max_position_embeddings=162,  # room for the longer texts of the sample tasks
      initializer_range=0.1,  # it is for wider models that 0.02 is enough
      hidden_dropout_prob=0.1,
      attention_probs_dropout_prob=0.0,
    ),
    task=Pretraining(
      corpora=("sample/pretraining",),
      words=48,
      entities=16,
      held_out=0.1,
      dev_records=400,
      # More than LUKE's 15 %: there is so little text that each reading has to ask for much.
      masking=Masking(words=0.25, entities=0.6),
    ),
    data=Data(batch_size=32, evaluation_batch_size=64),
    optimizer=Optimizer(learning_rate=3e-3, bias_correction=True, frozen=("luke/pooler",)),
    schedule=Schedule(warmup_steps=50),
    run=Run(
      steps=1500, log_every=50, evaluate_every=500, save_every=500, best_metric="entity_accuracy"
    ),
  )
