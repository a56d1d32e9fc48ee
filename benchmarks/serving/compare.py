"""`luke-jax serve` beside FastAPI with transformers: one model, one machine, one load, in turns.

    pip install '.[serve,parity]' fastapi 'uvicorn[standard]'
    luke-jax train tagging --train TRAIN --model english --output runs/tags --set task.crf=false
    python -m benchmarks.serving.compare runs/tags/model TEXTS --clients 1 16 64 200

TEXTS has a text a line, or a word and its tag a line, as CoNLL's files. A tagging model without a
CRF is one that transformers reads and computes to the end. Each client asks about one text, every
fourth time about five, as soon as it has its answer. Both servers are started, left alone for
`--pause` seconds, and warmed by 16 clients each. Then one and the other have their turns of
`--seconds` with each number of clients, `--rounds` times. Prints a line of JSON for each load:
processor seconds are the server's alone, and "errors" all that is not status 200. The last line has
the names in the first hundred texts: transformers begins one at an I- without its B- too, and has
parts of words.
"""

import argparse
import collections
import contextlib
import dataclasses
import http.client
import itertools
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from data.english.texts import read_columns, text_of

SECONDS = 300  # to wait for anything
Names = set[tuple[int, int, str]]


@dataclasses.dataclass
class Tally:
  """Answers to all clients, which share it."""

  seconds: list[float] = dataclasses.field(default_factory=list)
  texts: int = 0
  errors: collections.Counter = dataclasses.field(default_factory=collections.Counter)


class Running:
  """A server in a process of its own."""

  def __init__(self, command: Sequence[str]) -> None:
    """Starts it; `{port}` in the command is a free port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
      self.port = free.getsockname()[1]
    filled = [part.format(port=self.port) for part in command]
    self.process = subprocess.Popen(filled, stdout=subprocess.DEVNULL)
    self._wait()

  def _wait(self) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and self.process.poll() is None:
      try:
        if self.asked("GET", "/ready")[0] == 200:
          return
      except OSError:
        pass
      time.sleep(0.2)
    raise SystemExit(f"{self.process.args}: not ready")

  def connection(self) -> http.client.HTTPConnection:
    """Returns a new connection."""
    return http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)

  def asked(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
    """Returns status and JSON of an answer."""
    connection = self.connection()
    try:
      connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
      reply = connection.getresponse()
      return reply.status, json.loads(reply.read())
    finally:
      connection.close()

  def processor_seconds(self) -> float:
    """Returns the processor seconds that its threads have taken."""
    fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

  def resident(self) -> int:
    """Returns its MiB in memory."""
    text = Path(f"/proc/{self.process.pid}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0]) // 1024

  def __enter__(self) -> "Running":
    return self

  def __exit__(self, *fault: object) -> None:
    self.process.terminate()
    self.process.wait(SECONDS)


def texts_of(path: Path) -> list[str]:
  """Returns the texts of a file: lines, or sentences of tagged words."""
  lines = path.read_text("utf-8").splitlines()
  if all(len(line.split()) in (0, 2) for line in lines):
    return [text_of(sentence.words)[0] for sentence in read_columns(path)]
  return [line for line in lines if line.strip()]


def requests_of(texts: Sequence[str], seed: int) -> Iterator[tuple[bytes, int]]:
  """Yields bodies without end, each with its number of texts."""
  rng = random.Random(seed)
  while True:
    chosen = rng.sample(texts, rng.choice((1, 1, 1, 5)))
    text = chosen if len(chosen) > 1 else chosen[0]
    yield json.dumps({"text": text}).encode(), len(chosen)


def ask(server: Running, texts: Sequence[str], tally: Tally, end: float, seed: int) -> None:
  """Asks again and again, on a connection that stays open as long as the server lets it."""
  connection = server.connection()
  for body, number in requests_of(texts, seed):
    if time.monotonic() > end:
      break
    begun = time.perf_counter()
    try:
      connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
      reply = connection.getresponse()
      reply.read()
    except OSError as fault:
      tally.errors[type(fault).__name__] += 1
      connection.close()
      continue
    if reply.status != 200:
      tally.errors[str(reply.status)] += 1
      continue
    tally.seconds.append(time.perf_counter() - begun)
    tally.texts += number
  connection.close()


def load(server: Running, texts: Sequence[str], clients: int, seconds: float) -> dict[str, Any]:
  """Returns figures of a load."""
  tally, begun, end = Tally(), time.monotonic(), time.monotonic() + seconds
  memory, processor = server.resident(), server.processor_seconds()
  threads = [
    threading.Thread(target=ask, args=(server, texts, tally, end, seed)) for seed in range(clients)
  ]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join()
  took = time.monotonic() - begun
  p50, p99 = np.percentile(tally.seconds, (50, 99)) if tally.seconds else (np.nan, np.nan)
  spent = server.processor_seconds() - processor
  return {
    "clients": clients,
    "texts/s": round(tally.texts / took, 1),
    "requests/s": round(len(tally.seconds) / took, 1),
    "p50 ms": round(1000 * p50),
    "p99 ms": round(1000 * p99),
    "errors": dict(tally.errors),
    "texts per processor second": round(tally.texts / max(spent, 0.01), 1),
    "cores": round(spent / took, 2),
    "MiB": [memory, server.resident()],
  }


def names_of(server: Running, texts: Sequence[str]) -> list[Names]:
  """Returns the names that a server finds in texts, one request a text."""
  found = []
  for text in texts:
    status, answer = server.asked("POST", "/predict", {"text": [text]})
    if status != 200:
      raise SystemExit(f"status {status}: {answer}")
    (names,) = answer["predictions"]
    spans = names["spans"] if isinstance(names, dict) else names
    found.append({(span["start"], span["end"], span["label"]) for span in spans})
  return found


def main() -> None:
  """Loads both servers in turns."""
  parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
  parser.add_argument("model")
  parser.add_argument("texts", type=Path)
  parser.add_argument("--clients", type=int, nargs="+", default=[1, 16, 64, 200])
  parser.add_argument("--seconds", type=float, default=20)
  parser.add_argument("--rounds", type=int, default=2)
  parser.add_argument("--pause", type=float, default=30)
  parser.add_argument("--threads", type=int, default=1, help="of PyTorch")
  options = parser.parse_args()
  texts = texts_of(options.texts)
  python = (sys.executable, "-m")
  commands = {
    "luke_jax": (*python, "luke_jax", "serve", options.model, "--port", "{port}"),
    "fastapi": (
      *(*python, "benchmarks.serving.on_fastapi", options.model),
      *("{port}", str(options.threads)),
    ),
  }
  with contextlib.ExitStack() as stack:
    servers = {x: stack.enter_context(Running(command)) for x, command in commands.items()}
    time.sleep(options.pause)
    found = {name: names_of(server, texts[:100]) for name, server in servers.items()}
    for server in servers.values():
      load(server, texts, 16, options.seconds / 2)
    for number, clients in itertools.product(range(options.rounds), options.clients):
      for name, server in servers.items():
        about = {"server": name, "round": number, "machine's load": round(os.getloadavg()[0], 1)}
        print(json.dumps(about | load(server, texts, clients, options.seconds)), flush=True)
  both = sum(len(a & b) for a, b in zip(*found.values(), strict=True))
  print(json.dumps({"names of both": both} | {x: sum(map(len, of)) for x, of in found.items()}))


if __name__ == "__main__":
  main()
