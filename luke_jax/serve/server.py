"""Web server of an application, on uvicorn."""

import asyncio
import logging
import resource
import signal
import socket
import threading
import warnings
from concurrent.futures import Future
from types import TracebackType
from typing import Any

import h11
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.serve.guard import Limits

PORT = 8765
MOST_CONNECTIONS = 1000  # of more that all ask something, requests get 503 at once
BACKLOG = 128  # connections that are taken in one turn, before any that is too many is closed
TURNS = 4  # of the loop, in which a connection that is too many is closed
OTHER_FILES = 128  # that a server has open beside connections: weights, vocabularies, pipes
HEADER_SECONDS = 10  # in which the first line and the headers of a request have to arrive
HEADERS = "headers"  # what a connection waits for that asks nothing
IDLE_SECONDS = 1  # after which it has to go where there are too many: a request may be on its way
REST_SECONDS = 2  # for what is left of a body that nobody read, or for an answer's last bytes


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
    # To have been stopped is no failure. uvicorn takes the signals while it serves, and raises them
    # again once it is done.
    before = {x: signal.signal(x, lambda *_: self.stop()) for x in (signal.SIGINT, signal.SIGTERM)}
    warmed = self.application.state.service.warmed
    warmed.add_done_callback(lambda promise: self.stop() if _fault(promise) else None)
    try:
      self._serve()
    finally:
      for number, handler in before.items():
        signal.signal(number, handler)
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
    self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
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


def room_for_connections() -> tuple[int, int]:
  """Returns the most connections that descriptors are there for, and of those that wait.

  Without the check, each connection for which there is no descriptor is a traceback of asyncio's.
  Raises the soft limit of this process as far as it may; warns where that is too low.
  """
  wanted = _beyond(MOST_CONNECTIONS) + TURNS * BACKLOG + OTHER_FILES
  soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
  allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
  if soft != resource.RLIM_INFINITY and soft < allowed:
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    soft = allowed
  if soft == resource.RLIM_INFINITY or soft >= wanted:
    return MOST_CONNECTIONS, BACKLOG
  spare = max(soft - max(OTHER_FILES, _open_files() + OTHER_FILES // 4), 16)
  most = spare // 2
  warnings.warn(
    f"at most {most:,} connections at once, as ulimit -n is {soft:,}; expected {wanted:,} or more,"
    f" for {MOST_CONNECTIONS:,}",
    stacklevel=3,
  )
  return most, max(1, (spare - _beyond(most)) // TURNS)


def _open_files() -> int:
  try:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
  except OSError:  # a system without it
    return OTHER_FILES


def _beyond(most: int) -> int:
  """Returns how many connections there may be, so that those beyond the most get an answer."""
  return most + most // 4


def _config(application: Starlette, limits: Limits) -> uvicorn.Config:
  most, backlog = room_for_connections()
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
    limit_concurrency=most,
    backlog=backlog,
    timeout_graceful_shutdown=round(2 * limits.seconds + 1),
  )


class PatientProtocol(H11Protocol):
  """HTTP whose clients have some seconds for a request and its answer, however they arrive.

  So a client that sends or reads a byte now and then keeps no connection from the others.
  """

  _phase, _since = "", 0.0
  _timer: asyncio.TimerHandle | None = None

  def connection_made(self, transport: Any) -> None:
    """Starts to wait for headers; of too many connections, those that ask nothing are closed."""
    super().connection_made(transport)
    most = self.limit_concurrency or MOST_CONNECTIONS
    if len(self.connections) >= most:
      self._close_others(len(self.connections) - most + 1)
    if len(self.connections) > _beyond(most):
      transport.abort()
      return
    # asyncio leaves it away for a socket that was made without a protocol's number, and the body of
    # an answer then waits 40 ms until the client has acknowledged its headers.
    if connection := transport.get_extra_info("socket"):
      connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    self._wait()

  def data_received(self, data: bytes) -> None:
    """Waits on, for what has to come next."""
    super().data_received(data)
    self._wait()

  def on_response_complete(self) -> None:
    """Waits for the next request, or for the rest of a body that nobody read."""
    super().on_response_complete()
    self._wait()

  def timeout_keep_alive_handler(self) -> None:
    """Closes a connection without requests."""
    self._end()

  def connection_lost(self, exc: Exception | None) -> None:
    """Waits no more."""
    if self._timer is not None:
      self._timer.cancel()
    super().connection_lost(exc)

  def _close_others(self, count: int) -> None:
    """Closes connections, at most so many, of those that have waited longest for a request."""
    idle = [x for x in self.connections if isinstance(x, PatientProtocol) and x._phase == HEADERS]
    for other in sorted(idle, key=lambda x: x._since)[:count]:
      if self.loop.time() - other._since >= IDLE_SECONDS:
        self.connections.discard(other)
        other.transport.abort()

  def _wait(self) -> None:
    """Gives what has to come next its time, which more bytes of it do not prolong."""
    if self.conn.their_state is h11.IDLE:
      phase, seconds = HEADERS, HEADER_SECONDS
    elif self.cycle is not None and self.cycle.response_complete:
      # To close at once would take the answer from a client that is still sending.
      phase, seconds = "rest", REST_SECONDS
    else:
      phase, seconds = "request", self.config.timeout_graceful_shutdown or 0
    if phase == self._phase:
      return
    self._phase, self._since = phase, self.loop.time()
    if self._timer is not None:
      self._timer.cancel()
    self._timer = self.loop.call_later(seconds, self._end)

  def _end(self) -> None:
    """Closes the connection, also if the client does not read what it gets."""
    self.transport.close()
    self._timer = self.loop.call_later(REST_SECONDS, self.transport.abort)
