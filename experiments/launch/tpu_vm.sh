#!/usr/bin/env bash
# A run on a TPU VM slice (v4, v5e, v5p, v6e) by queued resources. Not run here: there was no TPU.
#
#   export PROJECT=my-project ZONE=us-west4-a NAME=luke   # NAME: of the slice, yours to choose
#   export BUCKET=gs://my-bucket                          # or SHARE=10.0.0.2:/runs, an NFS share
#   experiments/launch/tpu_vm.sh create                   # then wait until `state` says ACTIVE
#   experiments/launch/tpu_vm.sh install
#   experiments/launch/tpu_vm.sh train experiments/pretraining.py:luke-large-stage1 luke-large-stage1
#   experiments/launch/tpu_vm.sh log luke-large-stage1
#   experiments/launch/tpu_vm.sh train experiments/pretraining.py:luke-large luke-large
#   experiments/launch/tpu_vm.sh delete
#
# What comes after the run's name goes to luke-jax train, such as --set run.accumulation=16, which
# the file's batch wants on a slice of 16 chips (TYPE=v5litepod-16). With a bucket the places that the
# file names go there, too: --set task.corpora=$BUCKET/enwiki/pretraining
# --set run.start=$BUCKET/roberta-large. On a share they are found under their names.
# After a preemption: delete, create, install, train. The run goes on from its last checkpoint.
set -euo pipefail

: "${PROJECT:?}" "${ZONE:?}" "${NAME:?}"
runs=${BUCKET:+$BUCKET/runs}
runs=${runs:-/runs}
place=(--project "$PROJECT" --zone "$ZONE")

queued_resources() { gcloud compute tpus queued-resources "$@" "${place[@]}"; }
on_every_host() {
  gcloud compute tpus tpu-vm ssh "$NAME" "${place[@]}" --worker all --command "$1"
}

create() {
  # v5litepod-256 is v5e:16x16. Without --spot the slice costs more and is not taken away.
  queued_resources create "$NAME" --node-id "$NAME" \
    --accelerator-type "${TYPE:-v5litepod-256}" \
    --runtime-version "${RUNTIME:-v2-alpha-tpuv5-lite}" \
    --spot
}

state() { queued_resources describe "$NAME" --format 'value(state.state)'; }

install() {
  local archive
  archive=$(mktemp -d)/luke_jax.tar.gz
  git archive --format tar.gz --prefix luke_jax/ --output "$archive" HEAD
  gcloud compute tpus tpu-vm scp "$archive" "$NAME": "${place[@]}" --worker all
  # The image's Python is older than 3.11; uv brings one.
  on_every_host "tar xzf luke_jax.tar.gz &&
    python3 -m pip install --user --quiet uv &&
    python3 -m uv venv --python 3.12 venv &&
    python3 -m uv pip install --quiet --python venv/bin/python './luke_jax[tpu,gcs,datasets]'"
  [ -n "${BUCKET:-}" ] || mount_share
}

mount_share() {
  on_every_host "sudo apt-get install --yes --quiet nfs-common &&
    sudo mkdir -p /runs && sudo mount -t nfs ${SHARE:?} /runs && sudo chmod 1777 /runs"
  # Experiments name corpora, models and earlier runs by paths from here: they lie on the share.
  on_every_host "cd luke_jax && ln -sfn /runs runs &&
    for made in /runs/*/; do test -e \$(basename \$made) || ln -s \$made; done"
}

train() {
  # In the background, so that the run outlives the connection. Status 75: preempted, or another
  # host is gone; the same command goes on, as soon as all hosts are back.
  local run="../venv/bin/luke-jax train $1 --output $runs/$2 ${*:3}"
  on_every_host "cd luke_jax &&
    nohup sh -c 'while $run; [ \$? = 75 ]; do sleep 5; done' >> ../$2.log 2>&1 < /dev/null &"
}

log() {
  gcloud compute tpus tpu-vm ssh "$NAME" "${place[@]}" --worker 0 --command "tail -f $1.log"
}

delete() { queued_resources delete "$NAME" --force --quiet; }

case "${1-}" in
  create | state | install | delete) "$1" ;;
  train) "$1" "${2:?experiment file}" "${3:?name of the run}" "${@:4}" ;;
  log) "$1" "${2:?name of the run}" ;;
  *)
    echo "usage: $0 create | state | install | train EXPERIMENT RUN [OPTIONS] | log RUN | delete" >&2
    exit 2
    ;;
esac
