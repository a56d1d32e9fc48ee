"""Files of servers, fetched whole: cut ones go on; what differs from its hash is thrown away."""

import hashlib
import http
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import TypeVar

from luke_jax.errors import InputError
from luke_jax.files import FULL, Path

SCHEMES = ("http://", "https://")
AGENT = "luke_jax (https://github.com/luke-jax/luke_jax)"  # Wikimedia asks programs who they are
TRIES, PAUSE = 6, 2.0  # of what fails for the moment; seconds before the second, then twice that
_PIECE = 1 << 20
_BUSY = frozenset((408, 429, 500, 502, 503, 504))
_TIMEOUT = 60.0

T = TypeVar("T")


def read_page(address: str) -> str:
  """Returns the text at an address."""
  return _tried(address, lambda: _open(address).read()).decode("utf-8", "replace")


def size_of(address: str) -> int:
  """Returns the size of a file in bytes."""
  return _tried(address, lambda: int(_open(address, "HEAD").headers.get("Content-Length") or 0))


def fetch(address: str, path: Path, sha1: str, show: Callable[[int], None]) -> None:
  """Fetches a file unless it is there, and calls `show` with how many bytes are.

  What arrives is in `path` + ".part" until all of it has.
  """
  if path.exists():
    return
  part, size = path.with_name(path.name + ".part"), size_of(address)
  while True:
    there = _size(part)
    try:
      _tried(address, lambda: _receive(address, part, size, show))
      break
    except InputError:
      if _size(part) <= there:  # tries are counted anew once something has arrived
        raise
  with part.open("rb") as file:
    found = hashlib.file_digest(file, "sha1").hexdigest()
  if found != sha1:
    part.unlink()
    raise InputError(
      f"{address}: SHA-1 {found}; expected {sha1}, as the list beside it says: what arrived is"
      " thrown away, so run the same command again"
    )
  part.rename(path)


def _size(path: Path) -> int:
  return path.stat().st_size if path.exists() else 0


def _receive(address: str, part: Path, size: int, show: Callable[[int], None]) -> None:
  there = _size(part)
  if there == size > 0:
    return
  if there > size > 0:
    part.unlink()
    there = 0
  with _open(address, start=there) as answer:
    if answer.status != http.HTTPStatus.PARTIAL_CONTENT:
      there = 0  # the server sends all of it again
    with part.open("ab" if there else "wb") as file:
      while piece := answer.read(_PIECE):
        there += file.write(piece)
        show(there)
  if there < size:
    raise ConnectionError(f"{there:,} of {size:,} bytes arrived")


def _open(address: str, method: str = "GET", start: int = 0) -> http.client.HTTPResponse:
  if not address.startswith(SCHEMES):
    raise InputError(f"{address}: no address; expected one that begins with https://")
  headers = {"User-Agent": AGENT} | ({"Range": f"bytes={start}-"} if start else {})
  request = urllib.request.Request(address, headers=headers, method=method)
  return urllib.request.urlopen(request, timeout=_TIMEOUT)


def _tried(address: str, do: Callable[[], T]) -> T:
  """Returns what a call returns, which may fail some times for reasons that pass."""
  for number in range(1, TRIES + 1):
    try:
      return do()
    except InputError:
      raise
    except urllib.error.HTTPError as fault:
      last, passes = f"{fault.code} {fault.reason}", fault.code in _BUSY
    except (OSError, http.client.HTTPException, ValueError) as fault:
      last = str(getattr(fault, "reason", fault)).partition("\n")[0]
      passes = not isinstance(fault, ValueError) and getattr(fault, "errno", None) not in FULL
    if not passes or number == TRIES:
      break
    time.sleep(PAUSE * 2 ** (number - 1))
  raise InputError(f"{address}: {last}; expected an answer with the file")
