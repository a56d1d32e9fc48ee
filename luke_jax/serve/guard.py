"""Rules around every request: who may ask, headers of every reply, the log and the figures."""

import dataclasses
import hmac
import json
import logging
import math
import re
import time
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from luke_jax.errors import InputError, check_whole


@dataclasses.dataclass(frozen=True)
class Limits:
  """Most that a server takes on, so that no client makes the others wait without end."""

  body: int = 1_000_000
  """Most bytes of a request."""
  characters: int = 20_000
  """Most characters of a text, and most word pieces."""
  labels: int = 1000
  """Most labels that a request looks for, with a model of labels: reading them takes seconds."""
  waiting: int = 256
  """Most requests that wait; more are refused with status 429."""
  seconds: float = 30.0
  """Longest wait for a request to arrive, and for its answer; then the status is 408 or 503."""

  def __post_init__(self) -> None:
    """Raises InputError for limits below 1, and for a time that is none."""
    check_whole(1, body=self.body, characters=self.characters, labels=self.labels)
    check_whole(1, waiting=self.waiting)
    if not 0 < self.seconds < math.inf:
      raise InputError(f"seconds: {self.seconds!r}; expected a number above 0")


# The page loads nothing from elsewhere and is shown in no other page.
POLICY = (
  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:;"
  " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
  "Content-Security-Policy": POLICY,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
}
OPEN = ("/health", "/ready")  # to whoever watches over the process, without a token
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
REQUESTS = logging.getLogger("luke_jax.serve.requests")
FAULTS = logging.getLogger("luke_jax.serve")
NOTED = "luke_jax"


def fault_line(status: int, fault: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
  """Returns the reply to what is refused: one line of JSON."""
  return JSONResponse({"fault": fault}, status, headers)


def noted(scope: Scope) -> dict[str, Any]:
  """Returns the entries of the log about a request beside its status; none has its texts."""
  return scope.setdefault(NOTED, {})


class Guard:
  """ASGI application around another."""

  def __init__(
    self,
    app: ASGIApp,
    *,
    paths: Collection[str],
    observe: Callable[[str, int, float], object],
    token: str | None,
    hosts: Collection[str] | None,
  ) -> None:
    """Takes the paths that may be named in logs, and a function that counts requests."""
    self.app = app
    self.paths = paths
    self.observe = observe
    self.expected = None if token is None else token.encode()
    self.hosts = hosts

  async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
    """Answers a request."""
    if scope["type"] != "http":
      await self.app(scope, receive, send)
      return
    begun, status = time.perf_counter(), 0

    async def sending(message: Message) -> None:
      nonlocal status
      if message["type"] == "http.response.start":
        status = message["status"]
        added = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
        message = {**message, "headers": [*message["headers"], *added]}
      await send(message)

    path = scope["path"].removeprefix(scope.get("root_path", ""))
    path = path if path in self.paths else "other"
    try:
      await (self._refusal(scope, path) or self.app)(scope, receive, sending)
    except Exception:
      # A fault of ours: the server goes on, and its terminal has the whole of it.
      FAULTS.exception("a fault of luke-jax at %s", path)
      if not status:
        await fault_line(500, "a fault of luke-jax; its log says more")(scope, receive, sending)
    finally:
      seconds = time.perf_counter() - begun
      self.observe(path, status, seconds)
      _log(scope, path, status, seconds)

  def _refusal(self, scope: Scope, path: str) -> ASGIApp | None:
    headers = dict(scope["headers"])
    # Every browser names a host: who names none, as HTTP/1.0 allows, is no page of another site.
    if self.hosts is not None and b"host" in headers:
      host = headers[b"host"].decode("latin-1")
      if re.sub(r":\d*$", "", host).lower() not in self.hosts:
        return fault_line(403, f"host {host!r:.60}; expected one of {', '.join(self.hosts)}")
    scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
    is_given = scheme.lower() == b"bearer" and hmac.compare_digest(given, self.expected or b"")
    if self.expected and path not in OPEN and not is_given:
      expected = {"WWW-Authenticate": "Bearer"}
      return fault_line(401, "no token, or another; expected Authorization: Bearer", expected)
    return None


def _log(scope: Scope, path: str, status: int, seconds: float) -> None:
  if not REQUESTS.isEnabledFor(logging.INFO):
    return
  line = {
    "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
    "method": scope["method"],
    "path": path,
    "status": status,
    "seconds": round(seconds, 4),
    **scope.get(NOTED, {}),
  }
  REQUESTS.info(json.dumps(line))
