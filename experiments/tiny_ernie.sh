#!/usr/bin/env bash
# tiny_ernie.sh SEED FOLDER [STEPS]: masks of characters, of phrases and of entities against no
# pretraining, by one seed. Needs the files that tiny_ernie.py names. Each form has 3 STEPS in all.
set -euo pipefail
seed=$1 folder=$2 steps=${3:-1000}
here=$(dirname "$0")
characters="1.0,0.0,0.0" phrases="0.0,1.0,0.0" entities="0.0,0.0,1.0"

# stage NAME MIXTURE STEPS [CHANGES...]: FOLDER/models/NAME-SEED
stage() {
  local run=$folder/pretraining/$1-$seed
  luke-jax train "$here/tiny_ernie.py:pretraining" --output "$run" --set "run.seed=$seed" \
    --set "task.mixture=$2" --set "run.steps=$3" "${@:4}"
  luke-jax export "$run" "$folder/models/$1-$seed"
}

# asked NAME TEXT START: FOLDER/ner-NAME and FOLDER/topics-NAME
asked() {
  local task
  for task in ner topics; do
    luke-jax experiment run "$here/tiny_ernie.py:$task" --seeds "$seed" --output "$folder/$task-$1" \
      --set "task.text=$2" --set "run.start=$3"
  done
}

stage first "$characters" "$steps"
stage characters "$characters" "$((2 * steps))" --set "run.start=$folder/models/first-$seed"
stage phrases "$phrases" "$((2 * steps))" --set "run.start=$folder/models/first-$seed"
stage second "$phrases" "$steps" --set "run.start=$folder/models/first-$seed"
stage entities "$entities" "$steps" --set "run.start=$folder/models/second-$seed"
asked fresh ernie-1.0 null
for form in characters phrases entities; do
  asked "$form" "$folder/models/$form-$seed" "$folder/models/$form-$seed"
done
