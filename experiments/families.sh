#!/usr/bin/env bash
# families.sh SEED FOLDER: systems that start from MiniLM, or from nothing, in the tasks that they can do
# on free data, by one seed; hours of one CPU core. Needs `luke-jax get english`, what english.sh,
# few_rel.py and tiny_ernie.py name, and in LUKE_JAX_REAL_DATA the folder of the
# data, as for the tests (CONTRIBUTING.md). After some seeds:
# python -m experiments.results.table FOLDER
set -euo pipefail
seed=$1 folder=$2
export LUKE_JAX_REAL_DATA=${LUKE_JAX_REAL_DATA:-../shared/data}
here=$(dirname "$0")

# asked GROUP SYSTEM: FOLDER/GROUP/SYSTEM/seed-SEED/result.json
asked() {
  luke-jax experiment run "$here/english.py:$1-$2" --seeds "$seed" --output "$folder/$1/$2"
}

mkdir -p datasets/tokenizers/{roberta,sentencepiece}
cp "$LUKE_JAX_REAL_DATA"/tokenizers/roberta/{vocab.json,merges.txt} datasets/tokenizers/roberta
cp "$LUKE_JAX_REAL_DATA/tokenizers/sentencepiece/test_sentencepiece.model" \
  datasets/tokenizers/sentencepiece/sentencepiece.bpe.model

bash "$here/tener.sh" "$seed" "$folder/tener"
for system in bert luke ernie roberta xlm-r; do asked wnut17 "$system"; done

mkdir -p datasets/fine_food
for split in train dev test; do
  reviews=$LUKE_JAX_REAL_DATA/siblings/reviews/fine_food_1k
  cp "$reviews/finefood.$split.ss" "datasets/fine_food/$split.ss"
done
for system in bert luke ernie ma-bert ma-luke ma-ernie roberta xlm-r; do
  asked reviews "$system"
done

bash "$here/english.sh" "$seed" "$folder/english"
for task in typing qa; do
  luke-jax experiment run "$here/english.py:$task-ernie" --seeds "$seed" \
    --output "$folder/english/$task/ernie" --set run.epochs=null --set run.steps=300
done
for system in roberta xlm-r; do
  for task in relations typing qa; do asked "$task" "$system"; done
done
bash "$here/few_rel.sh" "$seed" "$folder/few_rel"
bash "$here/tiny_ernie.sh" "$seed" "$folder/tiny_ernie"
bash "$here/ma_bert.sh" "$seed" "$folder/ma_bert"
