#!/usr/bin/env bash
# stopwatch.sh SOURCE: from an empty folder to a model of one's own that is served and exported.
# Clones SOURCE, the repository or its address, into a new folder, does there what README and
# docs/howto say, and prints after each step its seconds and those since the start.
set -euo pipefail
source=$(realpath "${1:?repository}" 2> /dev/null || echo "$1")
folder=$(mktemp -d)
cd "$folder"
export XDG_CACHE_HOME=$folder/cache # nothing fetched or compiled before
trap 'jobs -p | xargs -r kill; wait; rm -r "$folder"' EXIT

last=0
# step NAME COMMAND...
step() {
  echo "== $1" >&2
  "${@:2}" >&2
  printf '%-40s %4d s %5d s\n' "$1" $((SECONDS - last)) "$SECONDS"
  last=$SECONDS
}

installed() {
  python3 -m venv .venv && .venv/bin/pip install --quiet '.[serve,onnx]'
}

ready() {
  luke-jax serve runs/ner --port 8799 > requests.jsonl &
  until python -c 'import urllib.request as u; u.urlopen("http://127.0.0.1:8799/ready")' 2> /dev/null; do
    kill -0 $! # or it has ended
    sleep 0.2
  done
}

asked() {
  python -c '
from luke_jax import serve
print(serve.Client("http://127.0.0.1:8799").predict("Angela Merkel led the CDU of Germany."))'
}

ended() {
  kill -TERM $! && wait $!
}

answered() { # by the program on the page, and without JAX
  sed -n '/^```python find_tags.py/,/^```$/{/^```/!p}' docs/howto/onnx.md > find_tags.py
  echo 'import sys; assert not {"jax", "flax"} & sys.modules.keys()' >> find_tags.py
  python find_tags.py
}

step "git clone" git clone --quiet "$source" luke_jax
cd luke_jax
step "pip install" installed
PATH=$PWD/.venv/bin:$PATH
step "luke-jax get english" luke-jax get english
step "luke-jax train ner --minutes 2" luke-jax train ner --train data/english/sample/politics/train.conll \
  --model english --minutes 2 --output runs/ner
step "luke-jax serve, until it is ready" ready
step "an answer to luke_jax.serve.Client" asked
step "SIGTERM, status 0" ended
step "luke-jax export-program --onnx" luke-jax export-program runs/ner --output served --onnx
step "an answer of onnxruntime, without JAX" answered
