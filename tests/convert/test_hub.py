"""Models to the hub and back, by its own client, to which a server of this machine answers."""

import base64
import contextlib
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jax
import numpy as np
import pytest
from huggingface_hub import constants
from networks import network
from tiny import tiny_model

import luke_jax
from luke_jax.cli import main
from luke_jax.convert.parts import READER
from luke_jax.convert.reading import fetch
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.model import Model
from luke_jax.models.network import initial_params

NAME = "ana/types"
COMMIT = "0123456789" * 4


class Hub(BaseHTTPRequestHandler):
  """As much of the hub as its client asks for, with the files of one model in memory."""

  files: dict = {}
  asked: list = []
  created: list = []

  @property
  def place(self):
    return f"http://{self.headers['Host']}/{NAME}"

  def log_message(self, *_):
    pass

  def do_POST(self):
    body = self.rfile.read(int(self.headers["Content-Length"] or 0))
    self.asked.append(self.path)
    if self.path == "/api/repos/create":
      self.created.append(json.loads(body))
      self.answer({"url": self.place})
    elif self.path.endswith("/preupload/main"):
      files = json.loads(body)["files"]
      modes = {"uploadMode": "regular", "shouldIgnore": False, "oid": None}
      self.answer({"files": [{"path": x["path"], **modes} for x in files]})
    elif self.path.endswith("/commit/main"):
      for line in map(json.loads, body.splitlines()):
        value = line["value"]
        if line["key"] == "file":
          self.files[value["path"]] = base64.b64decode(value["content"])
        elif line["key"] == "deletedFile":
          del self.files[value["path"]]
      self.answer({"commitUrl": f"{self.place}/commit/{COMMIT}", "commitOid": COMMIT})
    else:
      self.answer({})  # what a card's metadata are checked by

  def do_GET(self):
    self.asked.append(self.path)
    if self.path.startswith(f"/api/models/{NAME}/tree"):
      self.answer(
        [
          {"type": "file", "path": x, "size": len(y), "oid": hashlib.sha1(y).hexdigest()}
          for x, y in self.files.items()
        ]
      )
    elif self.path.startswith(f"/api/models/{NAME}"):
      siblings = [{"rfilename": name} for name in self.files]
      self.answer({"id": NAME, "modelId": NAME, "sha": COMMIT, "siblings": siblings})
    elif f"/{NAME}/resolve/" in self.path:
      data = self.files[self.path.partition(f"/resolve/{COMMIT}/")[2]]
      self.send(200, data, ETag=f'"{hashlib.sha1(data).hexdigest()}"', **{"X-Repo-Commit": COMMIT})
    else:
      self.send(404, b"{}", **{"X-Error-Code": "RepoNotFound"})

  def do_HEAD(self):
    self.do_GET()

  def answer(self, value):
    self.send(200, json.dumps(value).encode())

  def send(self, status, data, **headers):
    self.send_response(status)
    for name, value in {"Content-Length": len(data), "Content-Type": "application/json"}.items():
      self.send_header(name, str(value))
    for name, value in headers.items():
      self.send_header(name, value)
    self.end_headers()
    if self.command != "HEAD":
      self.wfile.write(data)


def is_private(created):
  """What a client of any major says of a new model."""
  return created.get("visibility") == "private" or created.get("private") is True


@pytest.fixture
def hub(tmp_path, monkeypatch):
  Hub.files, Hub.asked, Hub.created = {}, [], []
  server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
  thread = threading.Thread(target=server.serve_forever)
  thread.start()
  monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
  resolved = constants.ENDPOINT + "/{repo_id}/resolve/{revision}/{filename}"
  monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", resolved)
  monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
  monkeypatch.setenv("HF_TOKEN", "hf_of_a_test")
  with contextlib.closing(server.socket):
    yield Hub
    server.shutdown()
    thread.join()


@pytest.fixture(scope="module")
def model():
  return tiny_model("LukeForEntityClassification")


def test_what_save_writes_is_sent_and_comes_back(hub, model, tmp_path):
  hub.files |= {"pytorch_model.bin": b"of an earlier model", "notes.txt": b"of the owner"}
  sent = model.push_to_hub(NAME)
  model.save(tmp_path / "saved")
  written = {x.name: x.read_bytes() for x in (tmp_path / "saved").iterdir()}
  assert {name: hub.files[name] for name in written} == written
  assert hub.files.keys() - written == {"notes.txt"}
  assert sent.files == {name: len(data) for name, data in written.items()}
  assert is_private(hub.created[0]) and hub.created[0]["name"] == "types"
  assert b"pipeline_tag: text-classification" in hub.files["README.md"]
  again = luke_jax.load(f"hf://{NAME}", download=True)
  inputs = model.processor("Tokyo is far away.", entity_spans=[(0, 5)])
  np.testing.assert_array_equal(again(**inputs)["logits"], model(**inputs)["logits"])
  asked = len(hub.asked)
  assert luke_jax.load(f"hf://{NAME}").labels == model.labels
  assert len(hub.asked) == asked  # what is on this machine needs no network
  assert not [path for path in hub.asked if path.endswith("notes.txt")]


def test_nothing_is_fetched_unless_it_is_asked_for(hub, model, capsys):
  with pytest.raises(InputError, match=r"^hf://ana/types: not on this machine; .*download=True$"):
    luke_jax.load(f"hf://{NAME}")
  assert main(["predict", "typing", f"hf://{NAME}", "Tokyo"]) == 2
  assert "expected `luke-jax get hf://ana/types` before" in capsys.readouterr().err
  assert hub.asked == []


def test_commands_send_and_get(hub, model, tmp_path, capsys):
  model.save(tmp_path / "model")
  assert main(["push", str(tmp_path / "model"), NAME, "--dry-run"]) == 0
  printed = capsys.readouterr().out
  assert "model.safetensors" in printed and "none of which were sent" in printed
  assert hub.asked == []
  assert main(["push", str(tmp_path / "model"), NAME, "--public"]) == 0
  assert f"bytes, {constants.ENDPOINT}/{NAME}" in capsys.readouterr().out
  assert not is_private(hub.created[0])
  assert main(["get", f"hf://{NAME}"]) == 0
  directory, _, name = capsys.readouterr().out.strip().partition(": ")
  assert name == f"hf://{NAME}" and luke_jax.load(directory).labels == model.labels


def test_a_pickle_is_left_where_the_weights_have_another_form(hub, model):
  model.push_to_hub(NAME)
  hub.files["pytorch_model.bin"] = b"a pickle"
  assert not (fetch(f"hf://{NAME}") / "pytorch_model.bin").exists()


def test_a_pickle_is_fetched_where_there_is_nothing_else(hub):
  hub.files |= {"config.json": b"{}", "pytorch_model.bin": b"a pickle"}
  assert (fetch(f"hf://{NAME}") / "pytorch_model.bin").read_bytes() == b"a pickle"


@pytest.mark.parametrize(
  ("place", "said"),
  [
    ("hf://bo/none", "hf://bo/none: not found; expected its name there"),
    ("hf://none", "hf:.*none: expected hf://owner/name"),
  ],
)
def test_faults_are_one_line(hub, place, said):
  with pytest.raises(InputError, match=said) as fault:
    luke_jax.load(place, download=True)
  assert "\n" not in str(fault.value)


def test_without_a_network_one_line_says_so(model, monkeypatch, tmp_path):
  monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
  monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
  with pytest.raises(InputError, match=r"^hf://ana/types: .*; expected a network$"):
    model.push_to_hub(NAME)


@pytest.mark.parametrize(
  "name", ["types", "ana/..", "../ana", "ana/a--b", "ana/-x", "ana/" + 97 * "x"]
)
def test_a_name_that_the_hub_refuses_is_refused_before(name, model):
  with pytest.raises(InputError, match="expected owner/name"):
    model.push_to_hub(name, dry_run=True)
  with pytest.raises(InputError, match="expected hf://owner/name"):
    fetch(f"hf://{name}")


def test_what_reads_labels_goes_with_a_model_of_labels(hub, model, tmp_path):
  model.save(tmp_path / "reader")
  made = network("LukeForLabelMatching", model.config, labels=3)
  params = initial_params(made, jax.random.key(0))
  reader = {"whole_reader": Path(tmp_path) / "reader"}
  labels = Model(made, params, (), model.tokenizer, model.processor, **reader)
  labels.push_to_hub(NAME)
  assert {"config.json", f"{READER}/config.json"} <= hub.files.keys()
  directory = fetch(f"hf://{NAME}")
  assert luke_jax.load(directory).reader == directory / READER
  assert luke_jax.load(directory / READER).architecture == model.architecture


def test_a_tokenizer_that_a_config_names_is_fetched_too(hub):
  config = {"max_width": 12, "model_name": "of/texts", "labels_encoder": NAME}
  hub.files |= {"gliner_config.json": json.dumps(config).encode(), "model.safetensors": b"some"}
  hub.files |= {"vocab.txt": b"[PAD]", "tokenizer_config.json": b"{}", "notes.txt": b"more"}
  folder = fetch(f"hf://{NAME}") / "labels_tokenizer"
  assert {x.name for x in folder.iterdir() if x.is_file()} == {"vocab.txt", "tokenizer_config.json"}
