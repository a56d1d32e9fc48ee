#!/usr/bin/env bash
# A run on a TPU slice of a GKE cluster, by Cluster Toolkit's gcluster. Not run here: no cluster.
#
#   export PROJECT=my-project CLUSTER=my-cluster LOCATION=us-west4-a
#   export IMAGE=us-docker.pkg.dev/my-project/my-repository/luke_jax:1
#   export CLAIM=runs   # a ReadWriteMany volume claim of the cluster, such as a Filestore share
#   experiments/launch/gke.sh experiments/pretraining.py:luke-large-stage1 luke-large-stage1
#   experiments/launch/gke.sh experiments/pretraining.py:luke-large luke-large
#
# The volume holds what the experiment names, such as enwiki, and gets the runs. What comes after the
# run's name goes to luke-jax train. The same again goes on with the run.
set -euo pipefail

: "${PROJECT:?}" "${CLUSTER:?}" "${LOCATION:?}" "${IMAGE:?}" "${CLAIM:?}"
experiment=${1:?experiment file} run=${2:?name of the run}

docker build --file experiments/launch/Dockerfile --tag "$IMAGE" .
docker push "$IMAGE"

# v5litepod-256 is v5e:16x16. `exec` makes the run the container's first process, which SIGTERM goes
# to; it has the grace period to write its checkpoint and leaves with status 75, at which the JobSet
# restarts all hosts. Experiments name corpora, models and earlier
# runs by paths from where they run: they lie on the volume.
links='ln -sfn /runs runs; for made in /runs/*/; do test -e $(basename $made) || ln -s $made; done'
gcluster job submit \
  --project "$PROJECT" --cluster "$CLUSTER" --location "$LOCATION" \
  --name "$run-$(date +%m%d%H%M)" \
  --compute-type "${TYPE:-v5litepod-256}" --num-slices "${SLICES:-1}" \
  --image "$IMAGE" \
  --mount "$CLAIM:/runs:rw" \
  --restarts 100 --grace-period 2m \
  --command "$links; exec luke-jax train $experiment --output /runs/$run ${*:3}"
