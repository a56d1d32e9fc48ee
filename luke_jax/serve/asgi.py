"""The ASGI application: addresses, bodies and statuses around a service of models."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import Future
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from luke_jax.errors import InputError
from luke_jax.files import packaged
from luke_jax.model import Model
from luke_jax.serve.guard import Guard, Limits, fault_line, noted
from luke_jax.serve.joining import BusyError
from luke_jax.serve.models import TooLongError
from luke_jax.serve.openapi import description
from luke_jax.serve.service import KIND, Service

FILES = {"/": "serve/page.html", "/notice": "english/NOTICE.md"}
FILES |= {f"/{x}": f"serve/{x}" for x in ("page.css", "page.js", "attention.js")}
KINDS = {"md": "text/plain", "html": "text/html", "css": "text/css", "js": "text/javascript"}
GONE = 499  # of a client that closed the connection: seen in the log only
LATER = {"Retry-After": "1"}
MOST_DISCARDED = 16_000_000  # bytes of a body that is too large, so that its sender reads the reply


def application(
  models: Mapping[str, Model],
  *,
  limits: Limits | None = None,
  token: str | None = None,
  hosts: Collection[str] | None = None,
  page: bool = False,
) -> Starlette:
  """Returns an ASGI application that answers for models by their names.

  It serves itself (`luke_jax.serve.Server`, uvicorn) or is mounted in another, as in FastAPI.
  Programs are compiled in a thread from now on, and /ready says when that is done, or why it
  failed; more of them follow after the first request. With a `token` requests need it; with `hosts`
  they have to name one of those, and no other site's name that leads here. `page` adds the page of
  `luke-jax try`.
  """
  service = Service(models, limits or Limits(), page=page)
  return of_service(service, token=token, hosts=hosts, page=page)


def of_service(
  service: Service,
  *,
  token: str | None = None,
  hosts: Collection[str] | None = None,
  page: bool = False,
) -> Starlette:
  """Returns the application of a service."""
  answers = _Answers(service, secured=token is not None)
  routes = [
    Route("/predict", answers.predict, methods=["POST"]),
    Route("/models", answers.models),
    Route("/health", answers.health),
    Route("/ready", answers.ready),
    Route("/metrics", answers.metrics),
    Route("/openapi.json", answers.openapi),
  ]
  if page:
    routes.append(Route("/attention", answers.attention, methods=["POST"]))
    routes += [Route(path, _file(name)) for path, name in FILES.items()]
  guard = Middleware(
    Guard,
    paths=frozenset(route.path for route in routes),
    observe=service.observe,
    token=token,
    hosts=hosts,
  )
  made = Starlette(
    routes=routes, middleware=[guard], exception_handlers={HTTPException: _no_such_place}
  )
  made.router.redirect_slashes = False  # a client that follows none would see an empty reply
  made.state.service = service
  return made


_Asked = tuple[Future, Callable[[list[Any]], object]]  # a promise, and how its results are shown


class _Answers:
  """Endpoints of a service."""

  def __init__(self, service: Service, *, secured: bool) -> None:
    self.service = service
    self.secured = secured

  async def predict(self, request: Request) -> Response:
    """Predicts for the text or the texts of the body."""

    def ask(body: Mapping[str, object]) -> _Asked:
      promise, single = self.service.predict(body)
      name = self.service.model(body).name
      noted(request.scope)["model"] = name

      def shown(results: list[Any]) -> dict[str, object]:
        noted(request.scope)["texts"] = len(results)
        named = {"prediction": results[0]} if single else {"predictions": results}
        return {"model": name, **named}

      return promise, shown

    return await self._answer(request, ask)

  async def attention(self, request: Request) -> Response:
    """Returns the attention of a text."""
    return await self._answer(
      request, lambda body: (self.service.attention(body), lambda results: results[0])
    )

  async def models(self, request: Request) -> Response:
    """Describes the models."""
    return JSONResponse({"models": self.service.about()})

  async def health(self, request: Request) -> Response:
    """Answers as long as the process lives."""
    return JSONResponse({"health": "ok"})

  async def ready(self, request: Request) -> Response:
    """Answers with 200 once the programs are compiled."""
    if fault := self.service.readiness_fault:
      return fault_line(503, f"not ready: {fault}", LATER)
    return JSONResponse({"ready": True})

  async def metrics(self, request: Request) -> Response:
    """Returns figures in Prometheus's form."""
    text = self.service.metrics.text(self.service.joined.waiting, self.service.ready)
    return Response(text, headers={"Content-Type": KIND})

  async def openapi(self, request: Request) -> Response:
    """Describes the addresses in OpenAPI's form."""
    root = request.scope.get("root_path", "")
    return JSONResponse(description(self.service, root, secured=self.secured))

  async def _answer(
    self, request: Request, ask: Callable[[Mapping[str, object]], _Asked]
  ) -> Response:
    """Returns the answer to a question in JSON, or the line that says why there is none."""
    seconds = self.service.limits.seconds
    try:
      body = await _body(request, self.service.limits.body, seconds)
      promise, shown = ask(_object(body))
      return JSONResponse(shown(await _results(request, promise, seconds)))
    except ClientDisconnect:
      return Response(status_code=GONE)
    except _RefusedError as fault:
      return fault_line(fault.status, str(fault))
    except TooLongError as fault:
      return fault_line(413, str(fault))
    except InputError as fault:
      return fault_line(400, str(fault))
    except BusyError:
      return fault_line(429, "too many requests wait; expected fewer at once", LATER)
    except TimeoutError:
      expected = "expected fewer or shorter texts or, if others keep the server busy, to wait"
      return fault_line(503, f"no answer within {seconds:g} seconds; {expected}", LATER)


def _file(name: str) -> Callable[[Request], Awaitable[Response]]:
  """Returns an endpoint that sends a file of the page."""
  text = packaged(name)
  kind = KINDS[name.rpartition(".")[2]]

  async def send(request: Request) -> Response:
    return Response(text, media_type=kind)

  return send


class _RefusedError(Exception):
  """A request is refused with a status."""

  def __init__(self, status: int, fault: str) -> None:
    super().__init__(fault)
    self.status = status


async def _body(request: Request, most: int, seconds: float) -> bytes:
  """Returns the body of a request; of one that is too large nothing is kept."""
  # Another page's form cannot send this type without asking first.
  given = request.headers.get("content-type", "")
  if given.partition(";")[0].strip().lower() != "application/json":
    expected = "expected the header Content-Type: application/json"
    raise _RefusedError(415, f"content-type: {given or 'missing':.60}; {expected}")
  if coding := request.headers.get("content-encoding"):
    raise _RefusedError(415, f"content-encoding: {coding:.60}; expected none")
  declared = request.headers.get("content-length", "0")
  if len(declared) > 20 or int(declared) > MOST_DISCARDED:
    raise _RefusedError(413, f"expected at most {most:,} bytes")
  body, size = bytearray(), 0
  try:
    async with asyncio.timeout(seconds):
      async for chunk in request.stream():
        size += len(chunk)
        if size > MOST_DISCARDED:
          break
        if size <= most:
          body += chunk
  except TimeoutError:
    raise _RefusedError(408, f"no whole body within {seconds:g} seconds") from None
  if size > most:
    raise _RefusedError(413, f"expected at most {most:,} bytes")
  return bytes(body)


_EXAMPLE = 'an object such as {"text": "Ana lives in Paris."}'


def _object(body: bytes) -> Mapping[str, object]:
  """Returns the object of JSON in a body."""
  try:
    value = json.loads(body, parse_constant=_no_number)
  except RecursionError:
    raise InputError(f"the body is nested too deeply; expected {_EXAMPLE}") from None
  except ValueError as fault:  # InputError is one, and so are faults of JSON
    reason = (str(fault).splitlines() or [repr(fault)])[0] if body else "empty"
    raise InputError(f"the body is no JSON: {reason}; expected {_EXAMPLE}") from None
  if not isinstance(value, dict):
    raise InputError(f"the body is no object; expected {_EXAMPLE}")
  return value


def _no_number(name: str) -> None:
  raise InputError(f"{name} is no number")


async def _results(request: Request, promise: Future, seconds: float) -> list[Any]:
  """Waits for results; what nobody waits for any more is not computed."""
  results = asyncio.wrap_future(promise)
  gone = asyncio.ensure_future(_gone(request))
  try:
    await asyncio.wait((results, gone), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    if results.done():
      return results.result()
    if gone.done():
      raise ClientDisconnect
    raise TimeoutError
  finally:
    results.cancel()
    gone.cancel()
    with contextlib.suppress(asyncio.CancelledError):
      await gone


async def _gone(request: Request) -> None:
  """Returns once the client has closed the connection."""
  while (await request.receive())["type"] != "http.disconnect":
    pass


async def _no_such_place(request: Request, fault: Exception) -> Response:
  assert isinstance(fault, HTTPException)
  asked = f"{request.method} {request.url.path}"
  allowed = (fault.headers or {}).get("Allow")
  more = f"expected {allowed}" if allowed else "/openapi.json has what there is"
  line = f"{asked:.100}: {fault.detail.lower()}; {more}"
  return fault_line(fault.status_code, line, fault.headers)
