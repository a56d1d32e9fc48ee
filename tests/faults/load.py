"""Many clients of `luke-jax serve` at once, well-behaved and not; every answer must be right.

python -m tests.faults.load --clients 200 --seconds 60
python -m tests.faults.load --clients 16 --seconds 20 --no-faults
"""

import argparse
import collections
import contextlib
import dataclasses
import itertools
import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from luke_jax.serve import Client

TEXTS = Path(__file__).parents[2] / "data/english/sample/politics/test.conll"
MOST = 60  # texts to ask about
CLOSE = 1e-4  # scores differ by so much where texts are padded to other lengths


@dataclasses.dataclass
class Tally:
  """What clients saw. Threads share it."""

  seconds: list[float] = dataclasses.field(default_factory=list)
  texts: int = 0
  wrong: list[str] = dataclasses.field(default_factory=list)
  statuses: collections.Counter = dataclasses.field(default_factory=collections.Counter)


Expected = Sequence[tuple[str, Any]]  # texts, and what `predict` answers
GoOn = Callable[[], bool]


def ask(address: str, expected: Expected, tally: Tally, go_on: GoOn, seed: int) -> None:
  """Asks about a text or a few again and again, and compares each answer."""
  client, rng = Client(address, seconds=120), random.Random(seed)
  while go_on():
    chosen = rng.sample(expected, rng.choice((1, 1, 1, 5)))
    begun = time.perf_counter()
    try:
      texts = [text for text, _ in chosen]
      found = client.predict(texts) if len(chosen) > 1 else [client.predict(texts[0])]
    except (TimeoutError, ConnectionError) as fault:
      tally.statuses[type(fault).__name__] += 1
      continue
    tally.seconds.append(time.perf_counter() - begun)
    tally.texts += len(chosen)
    for (text, right), answer in zip(chosen, found, strict=True):
      if not same(answer, right):
        tally.wrong.append(f"{text[:60]}: {answer}")


def same(one: Any, other: Any) -> bool:
  """Whether two values of JSON are the same but for the rounding of numbers."""
  if isinstance(one, dict) and isinstance(other, dict):
    return one.keys() == other.keys() and all(same(x, other[name]) for name, x in one.items())
  if isinstance(one, list) and isinstance(other, list):
    return len(one) == len(other) and all(map(same, one, other))
  if isinstance(one, float) and isinstance(other, float):
    return abs(one - other) < CLOSE
  return one == other


def head(length: object, kind: str = "application/json") -> bytes:
  lines = ("POST /predict HTTP/1.1", "Host: 127.0.0.1", f"Content-Type: {kind}")
  return "\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode()


GOOD = json.dumps({"text": "Ana lives in Paris."}).encode()
# What a faulty client sends, and the status that it gets; None where it does not wait for one.
FAULTS: dict[str, tuple[bytes, int | None]] = {
  "no JSON": (head(7) + b"no JSON", 400),
  "no Unicode": (head(2) + b"\xff\xfe", 400),
  "deep": (head(100_000) + b"[" * 100_000, 400),
  "no text": (head(2) + b"{}", 400),
  "long text": (head(40_012) + b'{"text": "' + b"a" * 40_000 + b'"}', 413),
  "large body": (head(2_000_000) + b" " * 2_000_000, 413),
  "no number": (head("-1"), 400),
  "another kind": (head(2, "text/plain") + b"{}", 415),
  "no HTTP": (b"\x16\x03\x01\x00\x00\r\n\r\n", 400),
  "long header": (b"GET / HTTP/1.1\r\nA: " + b"a" * 200_000, 400),
  "gone in the headers": (head(len(GOOD))[:40], None),
  "gone in the body": (head(len(GOOD)) + GOOD[:10], None),
  "gone before the answer": (head(len(GOOD)) + GOOD, None),
}


def disturb(address: str, tally: Tally, go_on: GoOn) -> None:
  """Sends what is faulty, all of it once or more, and goes away where an answer is expected."""
  for name, (data, status) in itertools.cycle(FAULTS.items()):
    found = sent(address, data, waits=status is not None)
    if found != status:
      tally.wrong.append(f"{name}: status {found}, expected {status}")
    tally.statuses[f"{name}: {found}"] += 1
    if not go_on() and len(tally.statuses) >= len(FAULTS):
      return
    time.sleep(0.02)


def sent(address: str, data: bytes, waits: bool) -> int | None:
  parts = urlsplit(address)
  with socket.create_connection((parts.hostname, parts.port), timeout=120) as client:
    with contextlib.suppress(ConnectionError):  # it may have refused before all has arrived
      client.sendall(data)
    if not waits:
      return None
    reply = client.recv(15)
  return int(reply.split()[1]) if reply.startswith(b"HTTP/1.1 ") else None


def dawdle(address: str, tally: Tally, go_on: GoOn) -> None:
  """Sends a request letter by letter, slower than a server should wait for."""
  parts = urlsplit(address)
  while go_on():
    with (
      contextlib.suppress(ConnectionError),
      socket.create_connection((parts.hostname, parts.port), timeout=120) as client,
    ):
      for letter in head(len(GOOD)):
        client.sendall(bytes([letter]))
        time.sleep(0.2)
    tally.statuses["slow: ended"] += 1


def load(address: str, expected: Expected, seconds: float, clients: int, faults: bool) -> Tally:
  """Returns what clients of a server saw in some seconds."""
  tally, end = Tally(), time.monotonic() + seconds

  def go_on() -> bool:
    return time.monotonic() < end

  runs = [(ask, (address, expected, tally, go_on, seed)) for seed in range(clients)]
  if faults:
    runs += [(disturb, (address, tally, go_on))] * max(1, clients // 20)
    runs += [(dawdle, (address, tally, go_on))] * max(1, clients // 20)
  threads = [threading.Thread(target=run, args=arguments) for run, arguments in runs]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join()
  return tally


def expected_of(model: str) -> list[tuple[str, Any]]:
  """Returns texts with what `predict` answers."""
  import luke_jax
  from luke_jax.formats.files import Faults
  from luke_jax.serve.service import as_json
  from luke_jax.tasks.ner.files import read

  texts = [example.text for example in read(TEXTS, Faults())][:MOST]
  predicted = luke_jax.load(model).predict(texts)
  return [(text, as_json(x)) for text, x in zip(texts, predicted, strict=True)]


def started(model: str) -> tuple[subprocess.Popen, str]:
  """Starts a server that is ready, and returns its address."""
  command = [sys.executable, "-m", "luke_jax", "serve", model, "--port", "0"]
  process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
  assert process.stderr is not None
  line = process.stderr.readline()
  address = line.split()[1]
  while b" 200 " not in _ready(address):
    assert process.poll() is None, line
    time.sleep(0.2)
  return process, address


def _ready(address: str) -> bytes:
  parts = urlsplit(address)
  with socket.create_connection((parts.hostname, parts.port), timeout=120) as client:
    client.sendall(b"GET /ready HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    return client.recv(100)


def resident(process: subprocess.Popen) -> int:
  """Returns the MiB of a process that are in memory."""
  text = Path(f"/proc/{process.pid}/status").read_text()
  return int(text.partition("VmRSS:")[2].split()[0]) // 1024


def main(model: str, clients: int, seconds: float, faults: bool) -> dict[str, Any]:
  """Loads a server twice, and returns figures of the second time."""
  expected = expected_of(model)
  process, address = started(model)
  try:
    first = load(address, expected, seconds / 2, clients, faults)
    before = resident(process)
    begun = time.monotonic()
    tally = load(address, expected, seconds, clients, faults)
    took = time.monotonic() - begun
    after = resident(process)
  finally:
    process.send_signal(signal.SIGTERM)
  status = process.wait(timeout=60)
  wrong = first.wrong + tally.wrong
  p50, p99 = np.percentile(tally.seconds, (50, 99))
  return {
    "clients": clients,
    "requests": len(tally.seconds),
    "wrong": len(wrong),
    "first wrong": wrong[:1],
    "requests/s": round(len(tally.seconds) / took, 1),
    "texts/s": round(tally.texts / took, 1),
    "p50 ms": round(1000 * p50, 1),
    "p99 ms": round(1000 * p99, 1),
    "MiB": [before, after],
    "seen": dict(tally.statuses),
    "exit status": status,
  }


if __name__ == "__main__":
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--model", default="english/ner")
  parser.add_argument("--clients", type=int, default=200)
  parser.add_argument("--seconds", type=float, default=60)
  parser.add_argument("--no-faults", action="store_true")
  options = parser.parse_args()
  figures = main(options.model, options.clients, options.seconds, not options.no_faults)
  print(json.dumps(figures, indent=2))
  raise SystemExit(bool(figures["wrong"] or figures["exit status"]))
