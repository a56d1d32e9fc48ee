#!/usr/bin/env bash
# english.sh SEED FOLDER: relations, types, names and questions in English by one seed of adapters over
# MiniLM, read by the states of words (words) and as a LUKE with entities (luke). Needs
# datasets/english, also what data.english.named makes. Over an hour on one CPU core. After some seeds:
# python -m experiments.results.compare FOLDER/ner/words FOLDER/ner/luke
set -euo pipefail
seed=$1 folder=$2
here=$(dirname "$0")

# asked TASK CHANGES...: FOLDER/TASK/words/seed-SEED/result.json, and luke
asked() {
  luke-jax experiment run "$here/english.py:$1-bert" --seeds "$seed" --output "$folder/$1/words" "${@:2}"
  luke-jax experiment run "$here/english.py:$1-luke" --seeds "$seed" --output "$folder/$1/luke" "${@:2}"
}

asked relations --set run.epochs=1
asked typing --set run.epochs=null --set run.steps=300
asked ner --set run.epochs=null --set run.steps=700 --set data.batch_size=8 \
  --set task.span_words=5 --set task.entities=96
asked qa --set run.epochs=null --set run.steps=300
