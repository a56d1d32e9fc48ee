#!/usr/bin/env bash
# ma_bert.sh SEED FOLDER: what attributes of a text are worth, by one seed of the four forms and of none.
# Makes FOLDER/data. About four minutes on one CPU core.
set -euo pipefail
seed=$1 folder=$2
here=$(dirname "$0")
data=$folder/data
data_made=$(realpath -m "$data")
(cd "$here/.." && python -m data.raters.generate "$data_made")

# rated NAME CHANGES...: FOLDER/NAME/seed-SEED/result.json
rated() {
  luke-jax experiment run "$here/ma_bert.py:raters" --seeds "$seed" --output "$folder/$1" \
    --set "task.train=$data/train.ss" --set "task.dev=$data/dev.ss" \
    --set "task.test=$data/test.ss" --set "task.text=$data" "${@:2}"
}

for form in d c b a; do
  rated "$form" --set "task.attributes.form=$form"
done
rated text --set "task.attributes.names="
