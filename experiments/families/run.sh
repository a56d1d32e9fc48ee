#!/usr/bin/env bash
# run.sh SEED FOLDER: systems that start from MiniLM, or from nothing, in the tasks that they can do
# on free data, by one seed; hours of one CPU core. Needs `luke-jax get english`, what english/run.sh,
# few_rel/relations.py and tiny_ernie/pretraining.py name, and in LUKE_JAX_REAL_DATA the folder of the
# data, as for the tests (CONTRIBUTING.md). After some seeds:
# python -m experiments.results.table FOLDER
set -euo pipefail
seed=$1 folder=$2
export LUKE_JAX_REAL_DATA=${LUKE_JAX_REAL_DATA:-../shared/data}
here=$(dirname "$0")

# asked GROUP SYSTEM: FOLDER/GROUP/SYSTEM/seed-SEED/result.json
asked() {
  luke-jax experiment run "$here/$1_$2.py" --seeds "$seed" --output "$folder/$1/$2"
}

mkdir -p datasets/tokenizers/{roberta,sentencepiece}
cp "$LUKE_JAX_REAL_DATA"/tokenizers/roberta/{vocab.json,merges.txt} datasets/tokenizers/roberta
cp "$LUKE_JAX_REAL_DATA/tokenizers/sentencepiece/test_sentencepiece.model" \
  datasets/tokenizers/sentencepiece/sentencepiece.bpe.model

bash "$here/../tener/run.sh" "$seed" "$folder/tener"
for system in bert luke ernie roberta xlm_r; do asked wnut17 "$system"; done

mkdir -p datasets/fine_food
for split in train dev test; do
  reviews=$LUKE_JAX_REAL_DATA/siblings/reviews/fine_food_1k
  cp "$reviews/finefood.$split.ss" "datasets/fine_food/$split.ss"
done
for system in bert luke ernie ma_bert ma_luke ma_ernie roberta xlm_r; do
  asked reviews "$system"
done

bash "$here/../english/run.sh" "$seed" "$folder/english"
luke-jax experiment run "$here/../english/typing_ernie.py" --seeds "$seed" \
  --output "$folder/english/typing/ernie" --set run.epochs=null --set run.steps=300
luke-jax experiment run "$here/../english/qa_ernie.py" --seeds "$seed" \
  --output "$folder/english/qa/ernie" --set run.epochs=null --set run.steps=300
for system in roberta xlm_r; do
  for task in relations typing qa; do asked "$task" "$system"; done
done
bash "$here/../few_rel/run.sh" "$seed" "$folder/few_rel"
bash "$here/../tiny_ernie/run.sh" "$seed" "$folder/tiny_ernie"
bash "$here/../ma_bert/run.sh" "$seed" "$folder/ma_bert"
