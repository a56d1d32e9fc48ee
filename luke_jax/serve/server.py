"""Web server of an application, on uvicorn."""

import asyncio
import logging
import signal
import socket
import threading
from concurrent.futures import Future
from types import TracebackType
from typing import Any

import h11
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from luke_jax.errors import InputError
from luke_jax.serve.limits import Limits

PORT = 8765
MOST_CONNECTIONS = 1000  # of more, requests get 503 at once
HEADER_SECONDS = 10  # in which the first line and the headers of a request have to arrive


class Server:
  """Server of an application, in the foreground or, as a context, in a thread."""

  def __init__(self, application: Starlette, host: str = "127.0.0.1", port: int = PORT) -> None:
    """Takes a port, 0 for any that is free; raises InputError for one that is not."""
    self.application = application
    limits = application.state.service.limits
    self._socket = _bound(host, port)
    at, self.port = self._socket.getsockname()[:2]
    at = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(at, at)
    # For a browser or a client on this machine.
    self.address = f"http://{f'[{at}]' if ':' in at else at}:{self.port}/"
    self._server = uvicorn.Server(_config(application, limits))
    self._thread = threading.Thread(target=self._serve, daemon=True)

  def run(self) -> None:
    """Serves until SIGTERM or Ctrl+C, and ends with what it has begun."""
    # uvicorn raises the signal again once it is done: to have been stopped is no failure.
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    warmed = self.application.state.service.warmed
    warmed.add_done_callback(lambda promise: self.stop() if _fault(promise) else None)
    try:
      self._serve()
    except KeyboardInterrupt:
      pass
    finally:
      signal.signal(signal.SIGTERM, before)
    if fault := _fault(warmed):
      raise fault

  def stop(self) -> None:
    """Ends with what it has begun."""
    self._server.should_exit = True

  def _serve(self) -> None:
    service = self.application.state.service
    service.refine()
    try:
      self._server.run(sockets=[self._socket])
    finally:
      self._socket.close()
      service.close()

  def __enter__(self) -> "Server":
    self._thread.start()
    return self

  def __exit__(
    self,
    kind: type[BaseException] | None,
    fault: BaseException | None,
    trace: TracebackType | None,
  ) -> None:
    self.stop()
    self._thread.join()


def _fault(promise: Future) -> BaseException | None:
  """Returns the fault with which something ended, if it has ended."""
  return promise.exception() if promise.done() and not promise.cancelled() else None


def _bound(host: str, port: int) -> socket.socket:
  """Returns a socket that listens, so that who connects from now on waits for an answer."""
  try:
    if not 0 <= port < 1 << 16:
      raise OverflowError("not a port")
    (family, *_, place), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return socket.create_server(place[:2], family=family, backlog=2048)
  except (OSError, OverflowError) as fault:
    expected = "expected an address of this machine and a free port, or 0 for any"
    raise InputError(f"--host {host} --port {port}: {fault}; {expected}") from None


def _config(application: Starlette, limits: Limits) -> uvicorn.Config:
  logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # no lines on clients' faults
  return uvicorn.Config(
    application,
    http=PatientProtocol,
    loop="asyncio",
    ws="none",
    lifespan="off",
    log_config=None,
    access_log=False,
    server_header=False,
    proxy_headers=False,
    limit_concurrency=MOST_CONNECTIONS,
    timeout_graceful_shutdown=round(2 * limits.seconds + 1),
  )


class PatientProtocol(H11Protocol):
  """HTTP whose clients have some seconds for the headers of a request, however they arrive."""

  _headers_timer: asyncio.TimerHandle | None = None

  def connection_made(self, transport: Any) -> None:
    """Starts to wait for headers."""
    super().connection_made(transport)
    # asyncio leaves it away for a socket that was made without a protocol's number, and the body of
    # an answer then waits 40 ms until the client has acknowledged its headers.
    if connection := transport.get_extra_info("socket"):
      connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    self._wait()

  def data_received(self, data: bytes) -> None:
    """Waits on, until the headers are there."""
    super().data_received(data)
    if self.conn.their_state is not h11.IDLE:
      self._stop_waiting()
    elif self._headers_timer is None:
      self._wait()

  def connection_lost(self, exc: Exception | None) -> None:
    """Waits no more."""
    self._stop_waiting()
    super().connection_lost(exc)

  def _wait(self) -> None:
    self._headers_timer = self.loop.call_later(HEADER_SECONDS, self.transport.close)

  def _stop_waiting(self) -> None:
    if self._headers_timer is not None:
      self._headers_timer.cancel()
      self._headers_timer = None
