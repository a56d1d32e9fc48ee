"""`luke-jax serve` and `luke-jax try`."""

import logging
import os
import sys
import webbrowser
from typing import Annotated

from tyro.conf import OmitArgPrefixes, Positional, arg

from luke_jax import serve
from luke_jax.cli.process import stderr_console
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.serve.guard import LOOPBACK, REQUESTS, Limits

TOKEN = "LUKE_JAX_TOKEN"
PAGE_LIMITS = Limits(waiting=33)  # one that is computed, and those behind it


def run(
  models: Annotated[tuple[Path, ...], Positional, arg(metavar="MODEL")] = (),
  /,
  *,
  backbone: Path | None = None,
  host: str = "127.0.0.1",
  port: int = 8765,
  limits: OmitArgPrefixes[Limits],
) -> None:
  """Answers requests for predictions over HTTP, for programs in any language.

  POST /predict takes the JSON of what luke_jax.Model.predict takes; requests that wait are computed
  together. /models, /health, /ready, /metrics and /openapi.json describe the server. Each request
  is logged to stdout as a line of JSON, without its texts. SIGTERM and Ctrl+C end it once what it
  has begun is answered. With the environment variable LUKE_JAX_TOKEN set, requests need its value
  as bearer token.

      luke-jax serve english/ner english/facts
      luke-jax serve runs/ner --host 0.0.0.0

  Args:
    models: Directories, names or runs of models, or english-base; without any, those of english.
    backbone: Directory of the backbone, for adapters whose own luke-jax get does not know.
    host: Address to listen at; 0.0.0.0 for all of this machine.
    port: Port to listen at; 0 for any that is free.
  """
  token = os.environ.get(TOKEN)
  if token is not None and not token.strip():
    raise InputError(f"{TOKEN}: empty; expected a token, or no such variable")
  local = host in LOOPBACK or host == "::1"
  with stderr_console().status("reading the models"):
    read = serve.read_models(models, backbone)
  hosts = LOOPBACK if local else None
  application = serve.application(read, limits=limits, token=token, hosts=hosts)
  server = serve.Server(application, host, port)
  handler = logging.StreamHandler(sys.stdout)
  handler.setFormatter(logging.Formatter("%(message)s"))
  REQUESTS.addHandler(handler)
  REQUESTS.setLevel(logging.INFO)
  REQUESTS.propagate = False
  print(f"luke-jax: {server.address} answers for {', '.join(read)}", file=sys.stderr)
  if not local and token is None:
    print(f"luke-jax: warning: anyone who reaches {host} may ask: no {TOKEN}", file=sys.stderr)
  server.run()


def try_page(
  models: Annotated[tuple[Path, ...], Positional, arg(metavar="DIRECTORY")] = (),
  /,
  *,
  backbone: Path | None = None,
  port: int = 8765,
  no_browser: bool = False,
) -> None:
  """Opens a page on this machine that shows names, types, relations and answers as you type.

  Without a directory it shows the models in the box; two models for the same task can be compared.
  Nothing is sent to another machine. Ctrl+C ends it.

      luke-jax try
      luke-jax try runs/ner english/ner

  Args:
    models: Directories, names or runs of models, or english-base; without any, those of english.
    backbone: Directory of the backbone, for adapters whose own luke-jax get does not know.
    port: Port of this machine; 0 for any that is free.
    no_browser: Prints the address and opens nothing.
  """
  with stderr_console().status("reading the models"):
    read = serve.read_models(models, backbone)
    application = serve.application(read, limits=PAGE_LIMITS, hosts=LOOPBACK, page=True)
    server = serve.Server(application, port=port)
  print(server.address, flush=True)
  if not no_browser:
    webbrowser.open(server.address)
  server.run()
