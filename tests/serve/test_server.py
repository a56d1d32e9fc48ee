"""The page's server: answers of real models, and refusals of what is not from the page."""

import http.client
import json
import socket
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sample_models import save_start

from luke_jax.cli import main
from luke_jax.convert.fine_tuning import fine_tuning_start
from luke_jax.errors import InputError
from luke_jax.model import Model, load
from luke_jax.serve import answers
from luke_jax.serve.answers import MOST_CHARACTERS, Replies, read_models
from luke_jax.serve.server import MOST_BYTES, Server
from luke_jax.show.marked import hue
from luke_jax.tasks.known import task_class

TEXT = "Ana lives in Castrel 🏝 near Zahir."
LABELS = {"ner": ("NIL", "LOC", "PER"), "typing": ("city", "person"), "relations": ("none", "in")}


@pytest.fixture(scope="module")
def directories(tmp_path_factory):
  """Untrained models for four tasks, saved as trained ones."""
  folder = tmp_path_factory.mktemp("models")
  start = save_start(folder / "start")
  made = {}
  for task in ("ner", "typing", "relations", "qa"):
    kind = task_class(task)
    parts = fine_tuning_start(
      start,
      head=kind.heads[0],
      labels=LABELS.get(task, ()),
      new_words=kind.new_words,
      entities=kind.entity_table,
    )
    Model.of(parts).save(folder / task)
    made[task] = folder / task
  return made


@pytest.fixture(scope="module")
def server(directories):
  made = Replies({task: load(path) for task, path in directories.items()})
  server = Server(made, 0)
  threading.Thread(target=server.serve_forever, daemon=True).start()
  yield server
  server.shutdown()
  server.server_close()


def request(server, method, path, body=None, **headers):
  connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
  sent = json.dumps(body) if isinstance(body, dict) else body
  connection.request(method, path, sent, {"Content-Type": "application/json", **headers})
  reply = connection.getresponse()
  text = reply.read().decode()
  connection.close()
  return reply, text


def asked(server, kind, **body):
  reply, text = request(server, "POST", f"/{kind}", {"model": kind, **body})
  return reply.status, json.loads(text)


def test_the_page_and_its_files_name_no_other_machine(server):
  for path, kind in (
    ("/", "text/html"),
    ("/page.css", "text/css"),
    ("/page.js", "text/javascript"),
    ("/attention.js", "text/javascript"),
  ):
    reply, text = request(server, "GET", path)
    assert reply.status == 200 and reply.headers["Content-Type"] == f"{kind}; charset=utf-8"
    assert "http://" not in text and "https://" not in text
    assert "default-src 'none'" in reply.headers["Content-Security-Policy"]


def test_the_models_are_listed_by_task(server):
  about = json.loads(request(server, "GET", "/models")[1])
  assert {task: models[0]["name"] for task, models in about["tasks"].items()} == {
    task: task for task in ("ner", "typing", "relations", "qa")
  }
  assert about["tasks"]["ner"][0]["layers"] == 1 and len(about["tasks"]["ner"][0]["kinds"]) == 4


def test_answers_are_those_of_the_models(server, directories):
  spans = load(directories["ner"]).predict(TEXT)
  status, found = asked(server, "ner", text=TEXT)
  assert status == 200 and found["spans"] == [
    span._asdict() | {"hue": hue(span.label)} for span in spans
  ]
  relation = load(directories["relations"]).predict(TEXT, head=(0, 3), tail=(13, 20))
  status, found = asked(server, "relations", text=TEXT, head=[0, 3], tail=[13, 20])
  score = pytest.approx(relation.score, abs=1e-5)
  assert found == {"label": relation.label, "score": score, "none": False, "known": 2}
  status, found = asked(server, "qa", text=TEXT, question="Where?")
  assert status == 200 and all(TEXT[x["start"] : x["end"]] == x["text"] for x in found["answers"])
  status, found = asked(server, "typing", text=TEXT, spans=[[0, 3], [13, 20]])
  assert status == 200 and len(found["types"]) == 2


def test_attention_has_a_row_for_each_token(server):
  body = {"text": TEXT, "model": "ner", "layer": 0, "head": 1, "spans": [[0, 3]]}
  status, found = asked(server, "attention", **body)
  assert status == 200 and len(found["tokens"]) == len(found["weights"]) == found["words"] + 1
  assert all(sum(row) == pytest.approx(1, abs=0.05) for row in found["weights"])


@pytest.mark.parametrize(
  "kind, body, fault",
  [
    ("ner", {"text": 3}, "text: missing"),
    ("ner", {"text": "x" * (MOST_CHARACTERS + 1)}, "20,001 characters; expected at most 20,000"),
    ("ner", {"text": TEXT, "model": "nobody"}, "model: 'nobody'; expected one of ner"),
    ("poems", {"text": TEXT}, "poems: no model for it"),
    ("qa", {"text": TEXT}, "question: missing"),
    ("relations", {"text": TEXT, "head": [0, 3]}, "tail: missing"),
    ("relations", {"text": TEXT, "head": [0, 300], "tail": [1, 2]}, "head"),
    ("typing", {"text": TEXT, "spans": 7}, "spans: missing"),
    ("attention", {"text": TEXT, "model": "ner", "layer": 9}, "layer: 9"),
    ("attention", {"text": TEXT, "model": "ner", "layer": True}, "layer: True; expected a number"),
    ("attention", {"text": TEXT, "model": "ner", "head": "1"}, "head: '1'; expected a number"),
    ("ner", {"text": TEXT, "model": ["ner"]}, "model: ['ner']; expected one of ner"),
    ("attention", {"text": "a " * 100, "model": "ner"}, "expected at most 64"),
  ],
)
def test_faults_of_a_request_are_one_line(server, kind, body, fault):
  status, found = asked(server, kind, **body)
  assert status == 400 and fault in found["fault"] and "\n" not in found["fault"]


def test_empty_texts_have_no_answers(server):
  for text in ("", " \n", "\u200b", "🏝", "नमस्ते दुनिया"):
    status, found = asked(server, "ner", text=text)
    assert status == 200 and isinstance(found["spans"], list), found
  status, found = asked(server, "ner", text="\ud800")
  assert status == 400 and "half a surrogate pair" in found["fault"]


@pytest.mark.parametrize(
  "headers, status",
  [
    ({"Host": "example.org"}, 403),
    ({"Host": "example.org:80"}, 403),
    ({"Content-Type": "text/plain"}, 415),
    ({"Content-Length": str(MOST_BYTES + 1)}, 413),
    ({"Content-Length": "-1"}, 413),
    ({"Content-Length": "1" * 5000}, 413),
    ({"Content-Length": "²"}, 413),
  ],
)
def test_what_is_not_from_the_page_is_refused(server, headers, status):
  reply, _ = request(server, "POST", "/ner", {"text": TEXT, "model": "ner"}, **headers)
  assert reply.status == status


def test_nothing_else_is_served(server):
  for path in ("/../server.py", "/page.html", "/answers.py", "//etc/passwd", "/%2e%2e/server.py"):
    assert request(server, "GET", path)[0].status == 404
  assert request(server, "POST", "/ner", "no json")[0].status == 400
  assert request(server, "POST", "/ner", "[" * 100_000)[0].status == 400
  assert request(server, "POST", "/ner", "[]")[0].status == 400


def test_what_nobody_waits_for_is_not_computed(server, monkeypatch):
  """Who types asks again at every letter, and leaves the question before."""
  computed = []
  monkeypatch.setitem(answers._ANSWERS, "ner", lambda _, text, __: computed.append(text) or {})
  with server.answers._lock:
    for text in "abc":
      body = json.dumps({"text": text, "model": "ner"}).encode()
      with socket.create_connection(("127.0.0.1", server.server_port)) as client:
        host = f"Host: 127.0.0.1:{server.server_port}\r\nContent-Type: application/json"
        client.sendall(
          f"POST /ner HTTP/1.0\r\n{host}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        )
  assert asked(server, "ner", text="abcd") == (200, {})
  assert computed == ["abcd"]


def test_more_than_may_wait_are_refused_at_once(server, monkeypatch):
  monkeypatch.setattr(server.answers, "_places", threading.BoundedSemaphore(1))
  with server.answers._places:
    status, found = asked(server, "ner", text=TEXT)
  assert status == 429 and "too many texts" in found["fault"]
  assert asked(server, "ner", text=TEXT)[0] == 200


@settings(deadline=20_000, suppress_health_check=list(HealthCheck))
@given(text=st.text(max_size=200))
def test_any_text_has_an_answer(server, text):
  status, found = asked(server, "ner", text=text)
  assert status == 200
  assert all(0 <= x["start"] < x["end"] <= len(text) for x in found["spans"])


def test_a_model_for_no_task_of_the_page_is_refused(directories, tmp_path):
  start = directories["ner"].parent / "start"
  with pytest.raises(InputError):
    Replies({"start": load(start)})
  with pytest.raises(InputError, match=r"nowhere"):
    read_models([tmp_path / "nowhere"])


def test_a_port_in_use_is_one_line(server, directories, capsys):
  ner = str(directories["ner"])
  assert main(["try", ner, "--port", str(server.server_port), "--no-browser"]) == 2
  assert "expected a free one" in capsys.readouterr().err
  assert main(["try", ner, "--port", "99999", "--no-browser"]) == 2
