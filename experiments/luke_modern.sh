#!/usr/bin/env bash
# luke_modern.sh SEED FOLDER: one seed of LUKE's layers with and without each part of a newer encoder, on namesakes.
# Needs datasets/namesakes, see namesakes.py. Some forty minutes on one CPU core.
set -euo pipefail
seed=$1 folder=$2
here=$(dirname "$0")
rows="$here/luke_modern.py"

# form NAME CHANGES...: FOLDER/NAME/seed-SEED/result.json
form() {
  local run=$folder/pretraining/$1-$seed model=$folder/models/$1-$seed
  luke-jax train "$rows:pretraining" --output "$run" --set "run.seed=$seed" "${@:2}"
  luke-jax export "$run" "$model" --experiment "$rows:pretraining"
  luke-jax experiment run "$rows:questions" --seeds "$seed" --output "$folder/$1" \
    --set "task.text=$model" --set "run.start=$model" "${@:2}"
}

for positions in learned rotary; do
  for words in whole windows; do
    for norms in post pre; do
      changes=()
      [ $positions = rotary ] || changes+=(--set model.rotary=false)
      [ $words = whole ] || changes+=(--set model.reach=8)
      [ $norms = pre ] || changes+=(--set model.pre_norm=false)
      form "$positions-$words-$norms" "${changes[@]}"
    done
  done
done
