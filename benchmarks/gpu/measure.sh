#!/usr/bin/env bash
# measure.sh FOLDER [PART...]: what docs/measurements.md says of a GPU, in about nine minutes of one.
# All parts, or those that are named; each has a limit, and what fails stops no other. FOLDER gets the
# figures and the log. It needs the extras `cuda` and `parity`, in TOKENIZER a folder with RoBERTa's
# vocab.json and merges.txt, and for `names` what experiments/english.py:ner-bert says.
set -uo pipefail
folder=${1:?folder for the figures} tokenizer=${TOKENIZER:?folder of a tokenizer}
benchmarks=$(dirname "$(dirname "$0")")
root=$(dirname "$benchmarks") experiments=$(dirname "$benchmarks")/experiments
export PYTHONPATH=$(cd "$root" && pwd) # for benchmarks
shift
read -ra python <<<"${PYTHON:-python3}"
mkdir -p "$folder"
parts=("$@")

# part NAME SECONDS COMMAND...: runs it, if it was asked for
part() {
  local name=$1 limit=$2 start=$SECONDS
  shift 2
  [[ ${#parts[@]} == 0 || " ${parts[*]} " == *" $name "* ]] || return 0
  echo "== $name: $*"
  timeout --kill-after=5 "$limit" "$@" 2>&1 |
    grep -v -e 'Loading weights' -e '^step [0-9]*/' -e 'cannot be found' | tail -n 60
  echo "== $name: status ${PIPESTATUS[0]}, $((SECONDS - start)) s"
}

bench() { part "$1" "$2" "${python[@]}" -m benchmarks "${@:3}"; }
luke() { part "$1" "$2" "${python[@]}" -m luke_jax "${@:3}"; }
encoder() { bench "encoder-$1" "$2" encoder --rounds 5 --output "$folder/encoder-$1.json" "${@:3}"; }
step() { bench "step-$1" "$2" step --output "$folder/step-$1.json" "${@:3}"; }

measure() {
  nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader
  luke doctor 60 doctor
  XLA_FLAGS= JAX_PLATFORMS=cuda,cpu part agreement 100 "${python[@]}" -m pytest -q -m gpu "$root/tests/test_gpu.py"
  luke parity 60 parity "$root/data/sample_model" --output "$folder/parity.json"
  encoder base-bfloat16 130 --size luke-base --dtype bfloat16 --batch 32x128+32,32x512+128
  step large-32 130 "$experiments/synthetic.py:luke-large"
  part attention 60 "${python[@]}" "$benchmarks/gpu/attention.py"
  for form in blocks fused; do
    step "large-$form" 100 "$experiments/synthetic.py:luke-large" --set "running.attention=$form" \
      --set model.attention_probs_dropout_prob=0
  done
  encoder large-bfloat16 150 --size luke-large --dtype bfloat16 --batch 32x128+32,8x512+128
  bench ner 120 ner "$tokenizer" --dtype bfloat16 --documents 20 --rounds 2 \
    --output "$folder/ner.json"
  bench graph-l1 60 graph --output "$folder/graph-l1.json"
  bench graph-l2 60 graph --norm 2 --output "$folder/graph-l2.json"
  bench graph-wide 60 graph --width 400 --negatives 256 --output "$folder/graph-wide.json"
  luke names 150 experiment run "$experiments/english.py:ner-bert" --seeds 0 --output "$folder/names"
  encoder base-float32 100 --size luke-base --batch 32x128+32,16x512+128
  step large-64 120 "$experiments/synthetic.py:luke-large" --set data.batch_size=64
  step large-short 120 "$experiments/synthetic.py:luke-large" --set data.batch_size=128 \
    --set task.words=128 --set task.entities=32
  step ner-base 90 "$experiments/ner.py:luke-base" --set task.text="$tokenizer" --set data.batch_size=32 \
    --set task.train="$root/data/sample_tasks/ner/train.conll"
}
measure 2>&1 | tee "$folder/log"
