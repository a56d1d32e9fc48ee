#!/usr/bin/env bash
# few_rel.sh SEED FOLDER: FewRel's relations by one seed of a BERT, of an ERNIE of Tsinghua whose vectors
# say nothing, and of one with those of TransE. Needs datasets/few_rel, see few_rel.py. About a
# quarter of an hour on one CPU core. After some seeds:
# python -m experiments.results.compare FOLDER/transe FOLDER/dealt FOLDER/bert
set -euo pipefail
seed=$1 folder=$2
here=$(dirname "$0")
graph=$folder/graph-$seed dealt=$folder/dealt-$seed

# asked NAME CHANGES...: FOLDER/NAME/seed-SEED/result.json
asked() {
  luke-jax experiment run "$here/few_rel.py:relations" --seeds "$seed" --output "$folder/$1" "${@:2}"
}

luke-jax graph train "$here/few_rel.py:graph" --output "$graph" --set "run.seed=$seed"
python "$here/few_rel_dealt.py" "$graph/vectors" "$dealt" "$seed"
sim='"sim","sim","sim","sim","sim","sim"'
asked bert --set task.vectors= --set "model.layer_types=[$sim]" --set "optimizer.frozen=[]"
asked dealt --set "task.vectors=$dealt"
asked transe --set "task.vectors=$graph/vectors"
