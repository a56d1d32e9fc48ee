"""`luke-jax try`."""

import webbrowser
from typing import Annotated

from tyro.conf import Positional, arg

from luke_jax.cli.printing import stderr_console
from luke_jax.files import Path
from luke_jax.serve.answers import Replies, read_models
from luke_jax.serve.server import Server


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
  console = stderr_console()
  with console.status("reading the models"):
    answers = Replies(read_models(models, backbone))
    server = Server(answers, port)
    answers.warm()
  print(server.address, flush=True)
  if not no_browser:
    webbrowser.open(server.address)
  try:
    server.serve_forever()
  except KeyboardInterrupt:
    pass
  finally:
    server.server_close()
