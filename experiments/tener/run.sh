#!/usr/bin/env bash
# run.sh SEED FOLDER: TENER and the plain transformer on free data, by one seed, then compare.py FOLDER.
# LUKE_JAX_REAL_DATA names the folder of the data, as for the tests (CONTRIBUTING.md); EPOCHS are
# those of UNER Chinese and WNUT-17, whose files have thousands of sentences, STEPS a limit to try it.
set -euo pipefail
seed=$1 folder=$2
data=${LUKE_JAX_REAL_DATA:-../shared/data}
epochs=${EPOCHS:-30}
steps=${STEPS:-}

# compared NAME TRAIN DEV TEST EPOCHS OPTIONS-OF-NEW -- OPTIONS-OF-TRAINING
compared() {
  local name=$1 train=$2 dev=$3 test=$4 epochs=$5 new=() fresh=$folder/fresh/$1-$seed length
  shift 5
  while [ "$1" != -- ]; do
    new+=("$1")
    shift
  done
  shift
  length=(--set "run.epochs=$epochs")
  if [ -n "$steps" ]; then
    length=(--set run.epochs=null --set "run.steps=$steps")
  fi
  luke-jax new "$fresh" --train "$train" --size tener-resume --seed "$seed" "${new[@]}"
  for encoder in adatrans transformer; do
    local run=$folder/runs/$name-$encoder-$seed
    luke-jax train tagging --train "$train" --dev "$dev" --model "$fresh" --output "$run" \
      --set "model.encoder=$encoder" --set "run.seed=$seed" "${length[@]}" "$@"
    mkdir -p "$folder/scores/$name-$encoder"
    luke-jax evaluate tagging "$run/model" "$test" "${columns[@]}" |
      tail -n 1 >"$folder/scores/$name-$encoder/$seed.json"
  done
}

columns=(--columns _,word,tag,_,_)
uner=$data/siblings/ner/uner_zh_gsdsimp
compared uner_zh "$uner/train.iob2" "$uner/dev.iob2" "$uner/test.iob2" "$epochs" \
  "${columns[@]}" --characters --bigrams --character-encoder none -- \
  --set task.columns=_,word,tag,_,_ --set task.characters=true --set task.words=128

columns=()
wnut=$data/wnut17
compared wnut17 "$wnut/wnut17train.conll" "$wnut/emerging.dev.conll" \
  "$wnut/emerging.test.annotated" "$epochs" -- --set task.words=64

for domain in ai literature music politics science; do
  files=$data/crossner/$domain
  compared "crossner_$domain" "$files/train.txt" "$files/dev.txt" "$files/test.txt" 100 -- \
    --set task.words=64
done
