#!/usr/bin/env bash
# run.sh SEED FOLDER: every system in the tasks that it can do on free data, by one seed; about three
# hours on one CPU core. Needs `luke-jax get english`, and LUKE_JAX_REAL_DATA, the folder of the data,
# as for the tests (CONTRIBUTING.md). The table of all results:
# luke-jax experiment table FOLDER
set -euo pipefail
seed=$1 folder=$2
data=$(realpath "${LUKE_JAX_REAL_DATA:-../shared/data}")
here=$(dirname "$0")

# asked GROUP NAME CHANGES...: FOLDER/GROUP/NAME/seed-SEED/result.json
asked() {
  luke-jax experiment run "$here/$1_$2.py" --seeds "$seed" --output "$folder/$1/$2" "${@:3}"
}

mkdir -p datasets/fine_food
for split in train dev test; do
  cp "$data/siblings/reviews/fine_food_1k/finefood.$split.ss" "datasets/fine_food/$split.ss"
done
LUKE_JAX_REAL_DATA=$data bash "$here/../tener/run.sh" "$seed" "$folder/tener"
for system in bert luke ernie; do asked wnut17 "$system"; done
for system in bert luke ernie ma_bert; do asked reviews "$system"; done
