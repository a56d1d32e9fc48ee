#!/usr/bin/env bash
# namesakes.sh SEED FOLDER: what entities and their attention are worth, by one seed of each of four forms.
# Needs datasets/namesakes, see namesakes.py. About a quarter of an hour on one CPU core.
set -euo pipefail
seed=$1 folder=$2
here=$(dirname "$0")
original="model.use_entity_aware_attention=false"

# pretrained NAME CHANGES...: FOLDER/models/NAME-SEED
pretrained() {
  local run=$folder/pretraining/$1-$seed model=$folder/models/$1-$seed
  luke-jax train "$here/namesakes.py:pretraining" --output "$run" --set "run.seed=$seed" "${@:2}"
  luke-jax export "$run" "$model"
}

# asked NAME MODEL CHANGES...: FOLDER/NAME/seed-SEED/result.json
asked() {
  local model=$folder/models/$2-$seed
  luke-jax experiment run "$here/namesakes.py:questions" --seeds "$seed" --output "$folder/$1" \
    --set "task.text=$model" --set "run.start=$model" "${@:3}"
}

pretrained aware
pretrained original --set "$original"
asked aware aware
asked original original --set "$original"
asked words original --set "$original" --set model.entity_vocab_size=0 --set "optimizer.frozen=[]"
asked fresh aware --set run.start=null
