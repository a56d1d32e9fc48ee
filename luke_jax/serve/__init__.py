"""Server of models over HTTP: answers to programs, and a page for people.

application = luke_jax.serve.application({"names": luke_jax.load("english/ner")})
luke_jax.serve.Server(application).run()
luke_jax.serve.Client("http://127.0.0.1:8765").predict("Ana lives in Paris.")
"""

import http.client
import importlib
import json
import sys
import time
import urllib.parse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from luke_jax.errors import InputError

if TYPE_CHECKING:
  from luke_jax.serve.asgi import application
  from luke_jax.serve.guard import Limits
  from luke_jax.serve.models import read_models
  from luke_jax.serve.server import Server

__all__ = ["Client", "Limits", "Server", "application", "read_models"]

_ROOMS = {"Limits": "guard", "Server": "server", "application": "asgi"}
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


AGAIN = (429, 503)  # statuses of a server that has no time now


class Client:
  """Client of `luke-jax serve`. Threads may share it."""

  def __init__(
    self, address: str, *, model: str | None = None, token: str | None = None, seconds: float = 60
  ) -> None:
    """Takes a server's address, and the model to ask where the server has several.

    A server that is busy is asked again, until `seconds` have passed.
    """
    parts = urllib.parse.urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
      raise InputError(f"{address}: expected the address of a server, as http://127.0.0.1:8765")
    self._parts = parts
    self._model = model
    self._headers = {"Content-Type": "application/json"}
    if token is not None:
      self._headers["Authorization"] = f"Bearer {token}"
    self._seconds = seconds

  def predict(self, texts: str | Sequence[str], **fields: Any) -> Any:
    """Returns the prediction for one text, or for each text of a list, as JSON values.

    `fields` are those of `luke_jax.Model.predict`, and `model` where it is another.
    """
    single = isinstance(texts, str)
    body = {"text": texts if single else list(texts), **fields}
    if self._model is not None:
      body.setdefault("model", self._model)
    answer = self._ask("POST", "/predict", body)
    return answer["prediction"] if single else answer["predictions"]

  def models(self) -> list[dict[str, Any]]:
    """Returns the server's descriptions of its models."""
    return self._ask("GET", "/models")["models"]

  def _ask(self, method: str, path: str, body: object = None) -> Any:
    """Returns an answer.

    Raises InputError for what the server refuses, and TimeoutError if it stays busy.
    """
    end = time.monotonic() + self._seconds
    while True:
      status, answer = self._sent(method, path, body)
      if status == 200:
        return answer
      fault = answer.get("fault", "") if isinstance(answer, dict) else str(answer)
      if status not in AGAIN:
        kind = InputError if 400 <= status < 500 else RuntimeError
        raise kind(f"{self._parts.netloc}: status {status}: {fault}")
      if time.monotonic() + 1 > end:
        raise TimeoutError(f"{self._parts.netloc}: status {status}: {fault}")
      time.sleep(1)

  def _sent(self, method: str, path: str, body: object) -> tuple[int, Any]:
    secure = self._parts.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = kind(self._parts.netloc, timeout=self._seconds)
    sent = None if body is None else json.dumps(body)
    try:
      connection.request(method, self._parts.path.rstrip("/") + path, sent, self._headers)
      reply = connection.getresponse()
      text = reply.read().decode("utf-8", "replace")
    finally:
      connection.close()
    try:
      return reply.status, json.loads(text)
    except ValueError:  # not from this server, or from uvicorn itself
      return reply.status, text
