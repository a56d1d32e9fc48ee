"""Pretraining for linking, second stage: masked entities among those that are known, all trains.

Yamada et al. (2022): BERT's words, plain attention, no word masked and 30 % of the entities, links
to other pages kept as [UNK], 2,048 sequences, 29,196 steps (6 epochs), warm-up over 1,000, linear
decay, peak learning rate 5e-5, norms of gradients at most 1. Entities are the titles of the first
thirty candidates of every name of the data sets; how many these are, `wiki build` says, and
--set model.entity_vocab_size=NUMBER.

    python experiments/linkers/candidates.py titles.txt ganea/aida_*.csv ganea/wned-*.csv
    luke-jax wiki build enwiki-pages-articles.xml.bz2 --tokenizer bert-base-uncased \\
      --allowed titles.txt --allowed-only --output disambiguation
    luke-jax train experiments/pretraining/disambiguation_stage1.py --output runs/linking-stage1
    luke-jax train experiments/pretraining/disambiguation.py --output runs/linking

Then experiments/linking/msnbc.py.
"""

import dataclasses

from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.pipeline.rows import Masking
from luke_jax.tasks.pretraining import Pretraining
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule


def config() -> Experiment:
  """The experiment."""
  model = dataclasses.replace(
    SIZES["luke-base"],
    vocab_size=30522,
    entity_vocab_size=100_000,
    max_position_embeddings=512,
    type_vocab_size=2,
    layer_norm_eps=1e-12,
    pad_token_id=0,
    bos_token_id=101,
    eos_token_id=102,
    use_entity_aware_attention=False,
    word_positions="bert",
    bert_model_name="bert-base-uncased",
  )
  return Experiment(
    model=model,
    running=Running(dtype="bfloat16", attention="pallas", remat="dots"),
    task=Pretraining(
      corpora=("disambiguation/pretraining",), masking=Masking(words=0.0, entities=0.3)
    ),
    data=Data(batch_size=2048, evaluation_batch_size=512, workers=8),
    optimizer=Optimizer(
      learning_rate=5e-5,
      beta2=0.999,
      max_gradient_norm=1.0,
      frozen=("luke/pooler", "masked_words"),
    ),
    schedule=Schedule(warmup_steps=1000),
    run=Run(
      steps=29_196,
      accumulation=8,
      start="runs/linking-stage1",
      save_every=1000,
      log_every=50,
      evaluate_every=5000,
    ),
  )
