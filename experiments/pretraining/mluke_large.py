"""mLUKE-large's pretraining, second stage: everything trains, on the Wikipedias of 24 languages.

The released model's settings: XLM-R's words, original attention, masked word pieces, corpora
sampled by their size to the power 0.7, no unknown entities, 512 words and 128 entities, 2,048
sequences, 540,326 steps a stage; peak learning rate 5e-5 here and 5e-4 in the first stage.

    languages="ar bn de el en es fi fr hi id it ja ko nl pl pt ru sv sw te th tr vi zh"
    for code in $languages; do
      luke-jax wiki build ${code}wiki-pages-articles.xml.bz2 --tokenizer xlm-roberta-large \\
        --until counts --output wiki/$code
    done
    luke-jax wiki join wikidata-all.json.bz2 $(printf "wiki/%s " $languages) --output entities.jsonl
    for code in $languages; do
      luke-jax wiki build ${code}wiki-pages-articles.xml.bz2 --tokenizer xlm-roberta-large \\
        --vocabulary entities.jsonl --unknown-entities skip --output wiki/$code
    done
    luke-jax train experiments/pretraining/mluke_large_stage1.py --output runs/mluke-large-stage1
    luke-jax train experiments/pretraining/mluke_large.py --output runs/mluke-large

The vocabulary, shared by all, has the 1,200,000 most linked entities of three languages or more.
Hardware: v5e:16x16. No corpus is needed to plan it, which says 5.2 GiB a chip, 100 ms of
computation a step and 15.1 to 20.1 hours a stage. Its words' vocabulary is five times as long as
LUKE's, and each chip scores and sums the gradient of all of it: utilization is 58 %, LUKE's 68 %.

    luke-jax plan experiments/pretraining/mluke_large.py --topology v5e:16x16
"""

import dataclasses

from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.pipeline.rows import Masking
from luke_jax.tasks.pretraining import Pretraining
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule

LANGUAGES = "ar bn de el en es fi fr hi id it ja ko nl pl pt ru sv sw te th tr vi zh"


def config() -> Experiment:
  """The experiment."""
  return Experiment(
    model=dataclasses.replace(
      SIZES["mluke-large"],
      entity_vocab_size=1_200_000,  # the released model's second mask came later
    ),
    running=Running(dtype="bfloat16", attention="pallas", remat="dots"),
    task=Pretraining(
      corpora=tuple(f"wiki/{code}/pretraining" for code in LANGUAGES.split()),
      exponent=0.7,
      masking=Masking(whole_words=False),
    ),
    data=Data(batch_size=2048, evaluation_batch_size=512, workers=8),
    optimizer=Optimizer(learning_rate=5e-5, beta2=0.999, frozen=("luke/pooler",)),
    schedule=Schedule(warmup_steps=2500),
    run=Run(
      steps=540_326,
      accumulation=1,
      start="runs/mluke-large-stage1",
      save_every=1000,
      log_every=50,
      evaluate_every=5000,
    ),
  )
