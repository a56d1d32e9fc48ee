"""What SECURITY.md says goes over the network: nothing, but for what is asked for by name."""

import ast
import socket
from pathlib import Path

import pytest
from tiny import tiny_model

import luke_jax
from luke_jax.cli import main

ROOT = Path(luke_jax.__file__).parents[1]
LOCAL = ("127.0.0.1", "::1", "localhost")
# Roots of modules that reach other machines, and those of ours that may import them.
REACH = {"urllib.request", "http.client", "socket", "ssl", "ftplib", "smtplib", "xmlrpc"}
REACH |= {
  "aiohttp",
  "gcsfs",
  "google",
  "httpx",
  "huggingface_hub",
  "requests",
  "uvicorn",
  "urllib3",
}
KNOWN = {
  "convert/reading.py",  # get hf://, load(…, download=True), push
  "files/fetch.py",  # linker
  "files/buckets.py",  # gs://
  "files/locks.py",  # gs://, and the name of this machine
  "serve/__init__.py",  # the server that a program names
  "serve/server.py",  # listens
}


class ReachedError(BaseException):
  """Somebody was asked; no handler of faults takes it for a missing network."""


@pytest.fixture
def offline(monkeypatch):
  """Every try to reach another machine ends the test."""

  def refusing(call):
    def asked(self, address, *rest):
      if self.family != socket.AF_UNIX and address[0] not in LOCAL:
        raise ReachedError(address)
      return call(self, address, *rest)

    return asked

  def named(host, *rest, **options):
    if host not in (*LOCAL, None):
      raise ReachedError(host)
    return looked_up(host, *rest, **options)

  looked_up = socket.getaddrinfo
  for name in ("connect", "connect_ex"):
    monkeypatch.setattr(socket.socket, name, refusing(getattr(socket.socket, name)))
  monkeypatch.setattr(socket, "getaddrinfo", named)


def test_everyday_commands_reach_no_other_machine(offline, tmp_path, monkeypatch, capsys):
  monkeypatch.chdir(tmp_path)
  tiny_model("LukeForEntitySpanClassification").save("names")
  examples = ROOT / "data/sample_tasks/ner/dev.conll"
  for command in (
    ["--help"],
    ["settings", "ner"],
    ["data", "check", str(examples), "--task", "ner"],
    ["predict", "ner", "names", "Ana lives in Tokyo."],
  ):
    assert main(command) == 0, command
  capsys.readouterr()
  # What is not here is not looked for elsewhere.
  for model in ("studio-ousia/luke-base", "hf://studio-ousia/luke-base"):
    assert main(["predict", "ner", model, "Ana lives in Tokyo."]) == 2
    assert "luke-jax get" in capsys.readouterr().err


def test_what_asks_another_machine_would_be_noticed(offline):
  with pytest.raises(ReachedError, match="example"):
    main(["linker", "simplewiki", "--output", "linker", "--from", "https://dumps.example"])
  with pytest.raises(ReachedError, match=r"192\.0\.2\.1"):
    socket.create_connection(("192.0.2.1", 80))


def test_only_known_modules_can_reach_others():
  package = ROOT / "luke_jax"
  reach = set()
  for path in package.rglob("*.py"):
    text = path.read_text(encoding="utf-8")
    if not any(x.rpartition(".")[2] in text for x in REACH):  # to read the others takes longer
      continue
    names = set(imported(ast.parse(text)))
    if any(name == x or name.startswith(f"{x}.") for name in names for x in REACH):
      reach.add(str(path.relative_to(package)))
  assert reach == KNOWN


def imported(tree):
  """Names of all that a module imports, parts of modules too."""
  for node in ast.walk(tree):
    if isinstance(node, ast.Import):
      yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
      yield from (f"{node.module}.{alias.name}" for alias in node.names)
