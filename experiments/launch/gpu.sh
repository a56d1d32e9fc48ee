#!/usr/bin/env bash
# A run on one machine with NVIDIA GPUs, all of which it uses. Not run itself; its command ran on one.
# It needs a driver for CUDA 13 and Python 3.11 or newer.
#
#   experiments/launch/gpu.sh experiments/pretraining.py:luke-large-stage1 luke-large-stage1
#   experiments/launch/gpu.sh experiments/pretraining.py:luke-large luke-large
#
# What the experiment names, such as enwiki, lies in the folder where this runs. What comes after the
# run's name goes to luke-jax train. The same again goes on with the run.
set -euo pipefail

experiment=${1:?experiment file} run=${2:?name of the run}

if [ ! -e .venv-gpu/installed ]; then
  "${PYTHON:-python3}" -m venv .venv-gpu
  .venv-gpu/bin/python -m pip install --quiet '.[cuda,datasets]'
  touch .venv-gpu/installed
fi
exec .venv-gpu/bin/luke-jax train "$experiment" --output "${RUNS:-runs}/$run" "${@:3}"
