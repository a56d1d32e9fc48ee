#!/usr/bin/env bash
# tener.sh SEED FOLDER: TENER and the plain transformer on free data, one seed at a time. Makes
# datasets/tener from LUKE_JAX_REAL_DATA, the folder of the data, as for the tests (CONTRIBUTING.md).
# After some seeds:
# python -m experiments.results.compare FOLDER/wnut17/adatrans FOLDER/wnut17/transformer --metric f1
set -euo pipefail
seed=$1 folder=$2
data=${LUKE_JAX_REAL_DATA:-../shared/data}
here=$(dirname "$0")

# compared NAME OPTIONS-OF-NEW...: FOLDER/NAME/ENCODER/seed-SEED/result.json
compared() {
  local files=datasets/tener/$1
  luke-jax new "$files/fresh" --train "$files/train.conll" --size tener-resume --seed "$seed" "${@:2}"
  for encoder in adatrans transformer; do
    luke-jax experiment run "$here/tener.py:${1//_/-}" --seeds "$seed" --output "$folder/$1/$encoder" \
      --set "model.encoder=$encoder"
  done
}

mkdir -p datasets/tener/{uner_zh,wnut17,crossner}
for split in train dev test; do
  cp "$data/siblings/ner/uner_zh_gsdsimp/$split.iob2" "datasets/tener/uner_zh/$split.conll"
  cat "$data"/crossner/{ai,literature,music,politics,science}/$split.txt \
    >"datasets/tener/crossner/$split.conll"
done
cp "$data/wnut17/wnut17train.conll" datasets/tener/wnut17/train.conll
cp "$data/wnut17/emerging.dev.conll" datasets/tener/wnut17/dev.conll
cp "$data/wnut17/emerging.test.annotated" datasets/tener/wnut17/test.conll

compared uner_zh --columns _,word,tag,_,_ --characters --bigrams --character-encoder none
compared wnut17
compared crossner
