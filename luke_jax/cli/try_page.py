"""`luke-jax try`."""

import webbrowser
from typing import Annotated

from tyro.conf import Positional, arg

from luke_jax import serve
from luke_jax.cli.printing import stderr_console
from luke_jax.files import Path
from luke_jax.serve.limits import Limits

LIMITS = Limits(waiting=33)  # one that is computed, and those behind it


def run(
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
    models: Directories or names of models, or folders of runs.
    backbone: Directory of the backbone, for adapters whose own luke-jax get does not know.
    port: Port of this machine; 0 for any that is free.
    no_browser: Prints the address and opens nothing.
  """
  from luke_jax.serve.guard import LOOPBACK

  with stderr_console().status("reading the models"):
    read = serve.read_models(models, backbone)
    application = serve.application(read, limits=LIMITS, hosts=LOOPBACK, page=True)
    server = serve.Server(application, port=port)
  print(server.address, flush=True)
  if not no_browser:
    webbrowser.open(server.address)
  server.run()
