"""Server of models over HTTP: answers to programs, and a page for people.

application = luke_jax.serve.application({"names": luke_jax.load("english/ner")})
luke_jax.serve.Server(application).run()
luke_jax.serve.Client("http://127.0.0.1:8765").predict("Ana lives in Paris.")
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

from luke_jax.errors import InputError

if TYPE_CHECKING:
  from luke_jax.serve.asgi import application
  from luke_jax.serve.client import Client
  from luke_jax.serve.guard import Limits
  from luke_jax.serve.models import read_models
  from luke_jax.serve.server import Server

__all__ = ["Client", "Limits", "Server", "application", "read_models"]

_ROOMS = {"Client": "client", "Limits": "guard", "Server": "server", "application": "asgi"}
_ROOMS |= {"read_models": "models"}
_EXTRA = ("starlette", "uvicorn", "prometheus_client")


def __getattr__(name: str) -> Any:
  """Imports the web framework only for a server: a client needs none."""
  if name not in __all__:
    raise AttributeError(f"module 'luke_jax.serve' has no attribute {name!r}")
  try:
    return getattr(importlib.import_module(f"luke_jax.serve.{_ROOMS[name]}"), name)
  except ModuleNotFoundError as fault:
    package = (fault.name or "").partition(".")[0]
    if package not in _EXTRA:
      raise
    from luke_jax.doctor.inventory import install_command

    command = install_command("serve", sys.executable)
    raise InputError(f"{package}: not installed; expected it to serve: {command}") from None
