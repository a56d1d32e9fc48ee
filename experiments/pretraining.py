"""Pretraining of LUKE (appendix A of the paper), mLUKE, a linker, for a domain, and a tiny one.

LUKE, in two stages of 98,168 steps (20 epochs): RoBERTa's words, 500,000 entities of the English
Wikipedia of December 2018, 512 words and 128 entities, 2,048 sequences, original attention, warm-up
over 2,500 steps, linear decay. In the first stage what belongs to entities trains at a peak rate of
5e-4, the rest stays RoBERTa's; in the second everything at 1e-5. Both took the authors 30 days on
16 V100. task.authors weighs and groups masked words as they do.

    hf download FacebookAI/roberta-large --local-dir roberta-large
    luke-jax wiki build enwiki-pages-articles.xml.bz2 --tokenizer roberta-large --output enwiki
    luke-jax train experiments/pretraining.py:luke-large-stage1 --output runs/luke-large-stage1
    luke-jax train experiments/pretraining.py:luke-large --output runs/luke-large

mLUKE: XLM-R's words, masked word pieces, corpora sampled by their size to the power 0.7, no unknown
entities, 540,326 steps a stage, and the 1,200,000 most linked entities of three of 24 languages or
more, in one vocabulary:

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

A linker, by Yamada et al. (2022): BERT's words, no word masked and 30 % of the entities, links to
other pages kept as [UNK], 6 epochs after one of the first stage. Entities are the titles of the
first thirty candidates of every name of the data sets; how many these are, `wiki build` says, and
--set model.entity_vocab_size=NUMBER. Then experiments/linking.py.

    python experiments/linkers/candidates.py titles.txt ganea/aida_*.jsonl ganea/wned-*.jsonl
    luke-jax wiki build enwiki-pages-articles.xml.bz2 --tokenizer bert-base-uncased \\
      --allowed titles.txt --allowed-only --output disambiguation

No corpus is needed to plan a row. Beside each is what the planner says of a chip of that slice;
with fewer chips more run.accumulation. On 256 of them --set mesh.replica=16 halves what chips of
luke-large send (docs/plan.md).

    luke-jax plan experiments/pretraining.py:luke-large --topology v5e:16x16
"""

import dataclasses

from luke_jax.models.system import Running
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data
from luke_jax.pipeline.rows import Masking
from luke_jax.systems.luke import NOT_OF_ENTITIES
from luke_jax.tasks.pretraining import Pretraining
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule
from luke_jax.training.overrides import row

LANGUAGES = "ar bn de el en es fi fr hi id it ja ko nl pl pt ru sv sw te th tr vi zh"


def luke_large() -> Experiment:
  """Returns the second stage of LUKE-large."""
  return Experiment(
    model=dataclasses.replace(
      SIZES["luke-large"],
      use_entity_aware_attention=False,  # it comes with fine-tuning; true pretrains with it
    ),
    running=Running(dtype="bfloat16", attention="pallas", remat="dots"),
    task=Pretraining(corpora=("enwiki/pretraining",), authors=True),
    data=Data(batch_size=2048, evaluation_batch_size=512, workers=8),
    optimizer=Optimizer(learning_rate=1e-5, beta2=0.999, frozen=("luke/pooler",)),
    schedule=Schedule(warmup_steps=2500),
    run=Run(
      steps=98_168,
      accumulation=1,
      start="runs/luke-large-stage1",
      save_every=1000,
      log_every=50,
      evaluate_every=5000,
    ),
  )


def mluke_large() -> Experiment:
  """Returns the second stage of mLUKE-large, with the settings of the released model."""
  luke = luke_large()
  return dataclasses.replace(
    luke,
    model=dataclasses.replace(
      SIZES["mluke-large"],
      entity_vocab_size=1_200_000,  # the released model's second mask came later
    ),
    task=Pretraining(
      corpora=tuple(f"wiki/{code}/pretraining" for code in LANGUAGES.split()),
      exponent=0.7,
      masking=Masking(whole_words=False),
    ),
    optimizer=dataclasses.replace(luke.optimizer, learning_rate=5e-5),
    run=dataclasses.replace(luke.run, steps=540_326, start="runs/mluke-large-stage1"),
  )


def disambiguation() -> Experiment:
  """Returns the second stage of a linker."""
  luke = luke_large()
  return dataclasses.replace(
    luke,
    model=dataclasses.replace(
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
    ),
    task=Pretraining(
      corpora=("disambiguation/pretraining",), masking=Masking(words=0.0, entities=0.3)
    ),
    optimizer=Optimizer(
      learning_rate=5e-5, beta2=0.999, max_gradient_norm=1.0, frozen=("luke/pooler", "masked_words")
    ),
    schedule=Schedule(warmup_steps=1000),
    run=dataclasses.replace(luke.run, steps=29_196, accumulation=8, start="runs/linking-stage1"),
  )


def domain() -> Experiment:
  """Returns a LUKE that goes on with other texts and another entity vocabulary.

  Words and the encoder start from luke-base, and so does every entity that its vocabulary has under
  the same title; the others begin fresh. No paper has these settings: they are a place to start.
  """
  return Experiment(
    model=dataclasses.replace(
      SIZES["luke-base"], entity_vocab_size=20_000, use_entity_aware_attention=False
    ),
    running=Running(dtype="bfloat16", attention="pallas", remat="dots"),
    task=Pretraining(corpora=("domain/pretraining",)),
    data=Data(batch_size=256, evaluation_batch_size=256, workers=4),
    optimizer=Optimizer(learning_rate=5e-5, beta2=0.999, frozen=("luke/pooler",)),
    schedule=Schedule(warmup_steps=1000),
    run=Run(steps=20_000, start="luke-base", log_every=50, evaluate_every=2000),
  )


def tiny() -> Experiment:
  """Returns a tiny LUKE from scratch on the sample wiki, which learns what names mean there."""
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


FIRST = ("optimizer.learning_rate=5e-4", f"optimizer.frozen={','.join(NOT_OF_ENTITIES)}")
BASE = ("model=luke-base", "model.use_entity_aware_attention=false", "run.accumulation=8")
MBASE = ("model=mluke-base", "model.entity_vocab_size=1200000", "optimizer.learning_rate=1e-4")

ROWS = {
  # v5e:16x16, 8 sequences a chip: 3.1 GiB, 79 ms of computation a step, 2.2 to 2.8 hours.
  "luke-large": row(luke_large),
  # v5e:16x16: 2.9 GiB, 59 ms, 1.6 to 2.0 hours.
  "luke-large-stage1": row(luke_large, *FIRST, "run.start=roberta-large"),
  # v5e:2x4: 6.0 GiB, 884 ms, 24.1 to 25.0 hours. The authors gave the settings of large for both.
  "luke-base": row(luke_large, *BASE, "run.start=runs/luke-base-stage1"),
  # v5e:2x4: 4.8 GiB, 631 ms, 17.2 to 17.6 hours.
  "luke-base-stage1": row(luke_large, *BASE, *FIRST, "run.start=roberta-base"),
  # v5e:16x16: 5.2 GiB, 100 ms, 15.1 to 20.1 hours. The words' vocabulary is five times as long as
  # LUKE's, and each chip scores and sums the gradient of all of it: utilization is 58 %, LUKE's 68.
  "mluke-large": row(mluke_large),
  # v5e:16x16: 5.0 GiB, 70 ms, 10.6 to 13.2 hours.
  "mluke-large-stage1": row(mluke_large, *FIRST, "run.start=xlm-roberta-large"),
  # v5e:16x16: 3.6 GiB, 47 ms, 7.1 to 9.7 hours. A third is the gradient of the words' vocabulary.
  "mluke-base": row(mluke_large, *MBASE, "run.start=runs/mluke-base-stage1"),
  # v5e:16x16: 3.5 GiB, 33 ms, 5.0 to 6.1 hours.
  "mluke-base-stage1": row(mluke_large, *MBASE, *FIRST, "run.start=xlm-roberta-base"),
  # The control of table 8: RoBERTa-large on LUKE's corpus for as long, words only. The paper says
  # 200,000 steps and no rate: this is that of LUKE's second stage. With the rows of LUKE's markers.
  # v5e:16x16: 2.4 GiB, 58 ms, 3.2 to 4.3 hours.
  "roberta-large-control": row(
    luke_large,
    *("model=roberta-large", "model.vocab_size=50267", "optimizer.frozen="),
    *("run.steps=196336", "run.start=roberta-large"),
  ),
  "disambiguation": row(disambiguation),
  "disambiguation-stage1": row(
    disambiguation, *FIRST, "run.start=bert-base-uncased", "run.steps=4866"
  ),
  # v5e:2x4, 32 sequences a chip: 5.4 GiB, 100 ms, 0.6 hours. docs/howto/own-corpus.md leads to it.
  "domain": row(domain),
  # A minute and a half on two CPU cores. Of the masked entities on held-out pages it then finds 57
  # %, where whoever always says the most frequent one finds 4 %: `dev/entity_accuracy` beside
  # `dev/entity_majority`. data/sample_model is what `--set run.steps=7000 --set
  # run.evaluate_every=1000` makes of it: 75 %.
  "tiny": row(tiny),
}
