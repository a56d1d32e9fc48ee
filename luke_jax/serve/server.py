"""Web server of the page, for this machine alone."""

import http.server
import importlib.resources
import json
import select
import socket
import sys
from http import HTTPStatus
from typing import Any

from luke_jax.errors import InputError
from luke_jax.serve.answers import BusyError, GoneError, Replies

HOST = "127.0.0.1"
MOST_BYTES = 1_000_000  # of a request
FILES = {"/": "page.html"} | {f"/{x}": x for x in ("page.css", "page.js", "attention.js")}
KINDS = {
  "html": "text/html",
  "css": "text/css",
  "js": "text/javascript",
  "json": "application/json",
}
# The page loads nothing from elsewhere and is shown in no other page.
POLICY = (
  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:;"
  " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Server(http.server.ThreadingHTTPServer):
  """Server of a page and of the answers that it asks for."""

  daemon_threads = True
  request_queue_size = 128  # connections that are not accepted yet; of more, some are reset

  def __init__(self, answers: Replies, port: int) -> None:
    """Takes a port of this machine, 0 for any that is free."""
    try:
      super().__init__((HOST, port), Handler)
    except (OSError, OverflowError) as fault:
      raise InputError(f"--port: {port}: {fault}; expected a free one, or 0 for any") from None
    self.answers = answers

  @property
  def address(self) -> str:
    """Returns the address for a browser."""
    return f"http://{HOST}:{self.server_port}/"

  def handle_error(self, request: Any, client_address: Any) -> None:
    """Reports a fault, but not a browser that went away."""
    if not isinstance(sys.exc_info()[1], ConnectionError):
      super().handle_error(request, client_address)


class Handler(http.server.BaseHTTPRequestHandler):
  """Replies to the requests of the page."""

  timeout = 10  # seconds for a request that does not go on, whose thread waits

  @property
  def _served(self) -> Server:
    assert isinstance(self.server, Server)
    return self.server

  def do_GET(self) -> None:
    """Sends a file of the page, or what the models are."""
    if not self._is_own():
      return
    if self.path == "/models":
      self._send(HTTPStatus.OK, json.dumps(self._served.answers.about()), "json")
    elif self.path in FILES:
      name = FILES[self.path]
      text = importlib.resources.files("luke_jax.serve").joinpath(name).read_text("utf-8")
      self._send(HTTPStatus.OK, text, name.rpartition(".")[2])
    else:
      self._refuse(HTTPStatus.NOT_FOUND, f"{self.path}: nothing there")

  def do_POST(self) -> None:
    """Sends the answer to a question, asked in JSON."""
    if not self._is_own():
      return
    length = self.headers.get("Content-Length", "")
    digits = len(str(MOST_BYTES))  # Python makes no number of thousands of them
    if not length.isdecimal() or len(length) > digits or int(length) > MOST_BYTES:
      self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"expected at most {MOST_BYTES:,} bytes")
      return
    body = self.rfile.read(int(length))
    # Another page's form cannot send this type without asking first.
    if self.headers.get_content_type() != "application/json":
      self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "expected application/json")
      return
    try:
      request = json.loads(body)
      if not isinstance(request, dict):
        raise InputError("expected an object of JSON")
      kind = self.path.removeprefix("/")
      answer = self._served.answers.answer(kind, request, self._is_gone)
      self._send(HTTPStatus.OK, json.dumps(answer), "json")
    except GoneError:
      self.close_connection = True
    except BusyError:
      self._refuse(HTTPStatus.TOO_MANY_REQUESTS, "too many texts at once; expected fewer")
    except (ValueError, RecursionError) as fault:  # InputError is one, and so are faults of JSON
      self._refuse(HTTPStatus.BAD_REQUEST, (str(fault).splitlines() or [repr(fault)])[0])
    except Exception as fault:  # of ours: the page goes on, the terminal has the whole of it
      self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, f"a fault of luke-jax: {fault!r:.200}")
      raise

  def _is_gone(self) -> bool:
    """Returns whether the client has closed the connection."""
    readable, _, _ = select.select([self.connection], [], [], 0)
    try:
      return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)
    except OSError:
      return True

  def _is_own(self) -> bool:
    """Returns whether the request names this machine: another site's name may lead here too."""
    port = self._served.server_port
    if self.headers.get("Host") in (f"{HOST}:{port}", f"localhost:{port}"):
      return True
    self._refuse(HTTPStatus.FORBIDDEN, f"expected {self._served.address}")
    return False

  def _refuse(self, status: HTTPStatus, fault: str) -> None:
    self._send(status, json.dumps({"fault": fault}), "json")

  def _send(self, status: HTTPStatus, text: str, kind: str) -> None:
    data = text.encode()
    self.send_response(status)
    self.send_header("Content-Type", f"{KINDS[kind]}; charset=utf-8")
    self.send_header("Content-Length", str(len(data)))
    self.send_header("Content-Security-Policy", POLICY)
    self.send_header("X-Content-Type-Options", "nosniff")
    self.send_header("Referrer-Policy", "no-referrer")
    self.send_header("Cache-Control", "no-store")
    self.end_headers()
    self.wfile.write(data)

  def log_message(self, format: str, *args: object) -> None:
    """Logs nothing: texts are the user's own."""
