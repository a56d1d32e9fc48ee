"""The server: answers of real models, and refusals of what it does not take."""

import contextlib
import http.client
import json
import socket
import sys
import threading
import time
import types

import pytest
import uvicorn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sample_models import save_start
from starlette.applications import Starlette
from starlette.routing import Mount

from luke_jax.cli import main
from luke_jax.convert.fine_tuning import fine_tuning_start
from luke_jax.errors import InputError
from luke_jax.model import Model, load
from luke_jax.serve import Client, Limits, Server, application, read_models
from luke_jax.serve.guard import LOOPBACK, REQUESTS
from luke_jax.serve.joining import MOST_WEIGHT, Joined, TextItem
from luke_jax.serve.models import LOCAL, SETTINGS
from luke_jax.serve.openapi import prediction_schema
from luke_jax.serve.server import room_for_connections
from luke_jax.serve.service import SHORT, as_json
from luke_jax.show.marked import hue
from luke_jax.tasks.known import task_class
from tests.faults import load as faulty_clients

TEXT = "Ana lives in Castrel 🏝 near Zahir."
LABELS = {
  "ner": ("NIL", "LOC", "PER"),
  "typing": ("city", "person"),
  "relations": ("no_relation", "in"),
}
LIMITS = Limits(waiting=33)


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
def models(directories):
  return {task: load(path) for task, path in directories.items()}


@pytest.fixture(autouse=True)
def few_programs(monkeypatch):
  """Servers here compile what the page needs, which takes less time."""
  monkeypatch.setattr("luke_jax.serve.service.THOROUGH", SHORT)
  monkeypatch.setattr("luke_jax.serve.service.EXACT", ())


@pytest.fixture(scope="module")
def server(models):
  """The server of the page, which has all that a server has."""
  made = application(models, limits=LIMITS, hosts=LOOPBACK, page=True)
  with Server(made, port=0) as server:
    made.state.service.warmed.result(timeout=120)
    yield server


@pytest.fixture
def service(server):
  return server.application.state.service


def request(server, method, path, body=None, **headers):
  connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
  sent = json.dumps(body) if isinstance(body, dict) else body
  connection.request(method, path, sent, {"Content-Type": "application/json", **headers})
  reply = connection.getresponse()
  text = reply.read().decode()
  connection.close()
  return reply, text


def asked(server, model, place="/predict", **body):
  reply, text = request(server, "POST", place, {"model": model, **body})
  return reply.status, json.loads(text)


def sent_raw(server, data):
  """A connection on which bytes were sent."""
  client = socket.create_connection(("127.0.0.1", server.port), timeout=60)
  client.sendall(data)
  return client


def head_of(server, length):
  host = f"Host: 127.0.0.1:{server.port}\r\nContent-Type: application/json"
  return f"POST /predict HTTP/1.1\r\n{host}\r\nContent-Length: {length}\r\n\r\n".encode()


def busy(service):
  """Keeps the thread that computes, until the event that it returns is set."""
  begun, go_on = threading.Event(), threading.Event()

  def compute(items):
    begun.set()
    go_on.wait(60)
    return items

  service.joined.submit("busy", compute, [TextItem(None, "", 0)])
  assert begun.wait(60)
  return go_on


def close(one, other):
  """Whether two values of JSON are the same but for the rounding of numbers."""
  if isinstance(one, dict):
    return one.keys() == other.keys() and all(close(x, other[name]) for name, x in one.items())
  if isinstance(one, list):
    return len(one) == len(other) and all(map(close, one, other))
  return one == (pytest.approx(other, abs=1e-5) if isinstance(one, float) else other)


def test_the_page_and_its_files_name_no_other_machine(server):
  for path, kind in (
    ("/", "text/html"),
    ("/page.css", "text/css"),
    ("/page.js", "text/javascript"),
    ("/attention.js", "text/javascript"),
    ("/notice", "text/plain"),
  ):
    reply, text = request(server, "GET", path)
    assert reply.status == 200 and reply.headers["Content-Type"] == f"{kind}; charset=utf-8"
    assert "http://" not in text and "https://" not in text
    assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
  assert 'href="/notice"' in request(server, "GET", "/")[1] and text.startswith(
    "# Models in the box"
  )


def test_the_models_are_described(server):
  listed = Client(server.address).models()
  assert [model["name"] for model in listed] == ["ner", "typing", "relations", "qa"]
  assert listed[0]["task"] == "ner" and listed[0]["layers"] == 1 and len(listed[0]["queries"]) == 4
  assert listed[2]["negative"] == listed[2]["labels"][0] == "no_relation"


def test_answers_are_those_of_the_models(server, models):
  spans = models["ner"].predict(TEXT)
  assert asked(server, "ner", text=TEXT) == (
    200,
    {"model": "ner", "prediction": [span._asdict() | {"hue": hue(span.label)} for span in spans]},
  )
  relation = models["relations"].predict(TEXT, head=(0, 3), tail=(13, 20))
  status, found = asked(server, "relations", text=TEXT, head=[0, 3], tail=[13, 20])
  found["prediction"].pop("hue")
  assert status == 200 and close(found["prediction"], as_json(relation))
  status, found = asked(server, "qa", text=TEXT, question="Where?")
  assert status == 200 and all(
    TEXT[x["start"] : x["end"]] == x["text"] for x in found["prediction"]
  )
  status, found = asked(server, "typing", text=[TEXT] * 2, span=[[0, 3], [13, 20]])
  assert status == 200 and len(found["predictions"]) == 2


def test_the_client_predicts_as_the_model_does(models):
  made = application({"typing": models["typing"]}, token="secret")
  texts, spans = [TEXT, "Bo sings."], [(0, 3), (0, 2)]
  with Server(made, port=0) as server:
    client = Client(server.address, token="secret")
    many = client.predict(texts, span=spans)
    expected = models["typing"].predict(texts, span=spans)
    assert close(many, as_json(list(expected)))
    assert close(client.predict(TEXT, span=[0, 3]), many[0]) and client.predict([]) == []
    with pytest.raises(InputError, match="span"):
      client.predict(TEXT, span=[0, 300])
    with pytest.raises(InputError, match="status 401: no token"):
      Client(server.address).models()
    # Whoever watches over the process needs no token, and there is no page.
    assert request(server, "GET", "/health")[0].status == 200
    for scheme in ("Bearer", "bearer", "BEARER"):
      assert request(server, "GET", "/", Authorization=f"{scheme} secret")[0].status == 404
    assert request(server, "GET", "/", Authorization="Basic secret")[0].status == 401
    assert request(server, "GET", "/", Authorization="Bearer secretly")[0].status == 401
  with pytest.raises(InputError, match="expected the address of a server"):
    Client("localhost")


def test_a_client_may_ask_another_model_than_its_own(server, models):
  client = Client(server.address, model="typing")
  found = client.predict(TEXT, model="relations", head=[0, 3], tail=[13, 20])
  assert found["label"] == models["relations"].predict(TEXT, head=(0, 3), tail=(13, 20)).label


def test_a_busy_server_is_asked_again_by_the_client(server, service, monkeypatch):
  monkeypatch.setattr(service.joined, "_most_waiting", 0)
  timer = threading.Timer(0.2, lambda: monkeypatch.setattr(service.joined, "_most_waiting", 9))
  timer.start()
  found = Client(server.address, model="ner").predict(TEXT)
  assert isinstance(found, list)
  timer.join()
  monkeypatch.setattr(service.joined, "_most_waiting", 0)
  with pytest.raises(TimeoutError, match="status 429: too many requests"):
    Client(server.address, model="ner", seconds=0.1).predict(TEXT)


def test_requests_that_wait_are_joined_and_one_at_fault_spoils_no_other(server, service, models):
  go_on = busy(service)
  texts = ["Ana lives in Castrel.", "\ud800", "Zahir sings.", "Bo"]
  found = [None] * len(texts)

  def ask(i):
    found[i] = asked(server, "ner", text=texts[i])

  threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(texts))]
  for thread in threads:
    thread.start()
  wait_for(lambda: service.joined.waiting == 1 + len(texts))
  before = figures(server)
  go_on.set()
  for thread in threads:
    thread.join()
  assert found[1][0] == 400 and "half a surrogate pair" in found[1][1]["fault"]
  for i in (0, 2, 3):
    status, answer = found[i]
    spans = [{**x, "hue": hue(x["label"])} for x in as_json(models["ner"].predict(texts[i]))]
    assert status == 200 and close(answer["prediction"], spans)
  grown = {name: value - before.get(name, 0) for name, value in figures(server).items()}
  assert grown["luke_jax_batch_texts_sum"] == 3 and grown["luke_jax_batch_texts_count"] < 3


def test_a_request_of_large_texts_does_not_hold_up_small_ones():
  joined, computed, go_on = Joined(9), [], threading.Event()

  def compute(items):
    computed.append([item.place for item in items])
    return items

  small, large = [TextItem(None, "small", 1)], [TextItem(None, "large", MOST_WEIGHT)] * 3
  joined.submit("others", lambda items: go_on.wait(60) and items, small)
  done = [joined.submit("", compute, items) for items in (large, small, small)]
  go_on.set()
  for promise in done:
    promise.result(60)
  assert computed == [["large"], ["small", "small"], ["large"], ["large"]]


def test_figures_and_readiness_are_there_to_be_watched(server):
  asked(server, "ner", text=TEXT)
  found = figures(server)
  assert found["luke_jax_ready"] == 1 and found["luke_jax_waiting_requests"] == 0
  assert found['luke_jax_requests_total{path="/predict",status="200"}'] >= 1
  assert (
    found['luke_jax_predict_seconds_bucket{le="+Inf"}'] == found["luke_jax_predict_seconds_count"]
  )
  assert found['luke_jax_texts_total{model="ner"}'] >= 1
  assert request(server, "GET", "/ready")[0].status == 200


def figures(server):
  reply, text = request(server, "GET", "/metrics")
  assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
  lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
  return {name: float(value) for name, _, value in lines}


def wait_for(condition):
  for _ in range(6000):
    if condition():
      return
    threading.Event().wait(0.01)
  raise AssertionError("it did not come")


def test_it_is_not_ready_before_programs_are_compiled(models, monkeypatch):
  go_on = threading.Event()
  monkeypatch.setattr(
    "luke_jax.serve.service.Service._warm", lambda _, steps: go_on.wait(60) and [None] * len(steps)
  )
  with Server(application({"ner": models["ner"]}), port=0) as server:
    reply, text = request(server, "GET", "/ready")
    assert reply.status == 503 and "being compiled" in json.loads(text)["fault"]
    assert request(server, "GET", "/health")[0].status == 200
    assert figures(server)["luke_jax_ready"] == 0
    go_on.set()
    wait_for(lambda: request(server, "GET", "/ready")[0].status == 200)


def test_more_programs_are_compiled_while_nobody_waits_until_it_ends(models, monkeypatch):
  monkeypatch.setattr("luke_jax.serve.service.EXACT", ((1, 1),) * 1000)
  steps = []
  monkeypatch.setattr("luke_jax.serve.service.Service._refined", lambda _, x: steps.append(x.value))
  made = application({"ner": models["ner"]})
  joined = made.state.service.joined
  made.state.service.warmed.result(timeout=120)
  go_on = busy(made.state.service)
  with Server(made, port=0) as server:
    assert request(server, "GET", "/health")[0].status == 200 and not steps
    go_on.set()
    wait_for(lambda: len(steps) == 40)
    assert asked(server, "ner", text="Ana")[0] == 200 and steps[0][1:] == (1, 1)
  assert joined.waiting == 0 and next(joined._meanwhile, None) is None


def test_answers_do_not_wait_for_the_clients_acknowledgement(server):
  """Nagle's algorithm holds the second part of an answer back for 40 ms on an open connection."""
  connection, seconds = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60), []
  for _ in range(30):
    begun = time.perf_counter()
    connection.request("GET", "/health")
    connection.getresponse().read()
    seconds.append(time.perf_counter() - begun)
  connection.close()
  assert min(seconds[20:]) < 0.03


def test_the_description_has_every_address(server):
  described = json.loads(request(server, "GET", "/openapi.json")[1])
  assert described["openapi"] == "3.1.0"
  for path, methods in described["paths"].items():
    for method in methods:
      assert request(server, method.upper(), path, "{}")[0].status in (200, 400)
  posted = described["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]
  schema = described["paths"]["/predict"]["post"]["responses"]["200"]["content"]
  answers = schema["application/json"]["schema"]["oneOf"]
  for example in posted["examples"].values():
    one, many = example["value"], {x: [y] for x, y in example["value"].items() if x != "model"}
    for body in (one, many | {"model": one["model"]}):
      reply, text = request(server, "POST", "/predict", body)
      assert reply.status == 200
      assert sum(fits(json.loads(text), answer) for answer in answers) == 1, text
  assert described["security"] == []  # nobody needs a token


KINDS = {"object": dict, "array": list, "string": str, "integer": int, "number": float | int}


def fits(value, schema):
  """Whether a value is of a schema, by the words that the description uses."""
  if "const" in schema and value != schema["const"]:
    return False
  if not isinstance(value, KINDS[schema["type"]] if "type" in schema else object):
    return False
  if isinstance(value, list):
    return all(fits(x, schema["items"]) for x in value)
  if not isinstance(value, dict):
    return True
  fields, other = schema.get("properties", {}), schema.get("additionalProperties", {})
  needed = [schema, *filter(lambda x: value.keys() >= {*x["required"]}, schema.get("oneOf", ()))]
  return (
    len(needed) == 1 + ("oneOf" in schema)
    and value.keys() >= {*schema.get("required", ())}
    and all(fits(x, fields.get(name, other)) for name, x in value.items())
  )


def test_predictions_are_described_by_their_types():
  link = prediction_schema(task_class("linking"))["items"]
  assert link["title"] == "Link" and link["required"][3] == "title"
  assert link["properties"]["item"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
  assert link["properties"]["others"]["items"]["title"] == "Entity"
  numbers = prediction_schema(task_class("classification"))["anyOf"][1]
  assert numbers["properties"] == {"value": {"type": "number"}}


def test_a_line_of_the_log_has_nothing_of_the_text(server, caplog):
  with caplog.at_level("INFO", REQUESTS.name):
    asked(server, "ner", text="Zahir")
    request(server, "GET", "/Zahir?Zahir")
    wait_for(lambda: len(caplog.records) == 2)
  first, second = (json.loads(record.message) for record in caplog.records)
  assert {**first, "time": 0, "seconds": 0} == {
    "time": 0,
    "method": "POST",
    "path": "/predict",
    "status": 200,
    "seconds": 0,
    "model": "ner",
    "texts": 1,
  }
  assert second["path"] == "other" and second["status"] == 404 and "Zahir" not in caplog.text


def test_attention_has_a_row_for_each_token(server):
  body = {"text": TEXT, "layer": 0, "head": 1, "spans": [[0, 3]]}
  status, found = asked(server, "ner", "/attention", **body)
  assert status == 200 and len(found["tokens"]) == len(found["weights"]) == found["words"] + 1
  assert all(sum(row) == pytest.approx(1, abs=0.05) for row in found["weights"])


@pytest.mark.parametrize(
  "model, body, fault",
  [
    ("ner", {"text": 3}, "text: 3; expected a text"),
    ("ner", {"texts": [TEXT]}, "texts: not of a request; expected text"),
    ("ner", {}, "text: missing; expected a text"),
    ("nobody", {"text": TEXT}, "model: 'nobody'; expected one of ner"),
    (["ner"], {"text": TEXT}, "model: ['ner']; expected one of ner"),
    (None, {"text": TEXT}, "model: missing; expected one of ner"),
    ("qa", {"text": TEXT}, "question: missing"),
    ("qa", {"text": TEXT, "question": "Who? " * 400}, "question: 80"),
    ("relations", {"text": TEXT, "head": [0, 3]}, "tail"),
    ("relations", {"text": TEXT, "head": [0, 300], "tail": [1, 2]}, "head"),
    ("relations", {"text": TEXT, "head": [0, 10**400], "tail": [1, 2]}, "head"),
    ("typing", {"text": TEXT, "span": 7}, "span"),
    ("typing", {"text": [TEXT], "span": [0, 3]}, "span: expected a list of 1"),
    ("ner", {"text": [TEXT, 7]}, "text 1"),
    ("ner", {"text": TEXT, "threshold": "0.5"}, "threshold: '0.5'; expected a number"),
    ("ner", {"text": TEXT, "threshold": 1.5}, "expected a number from 0 to 1"),
    ("ner", {"text": TEXT, "labels": "person, ship"}, "labels: expected a list of labels"),
    (
      "ner",
      {"text": TEXT, "labels": ["ship"]},
      "labels: a LukeForEntitySpanClassification has its",
    ),
    ("ner", {"text": TEXT, "knowledge": "/etc"}, "knowledge: not of a request"),
    ("ner", {"text": TEXT, "vectors": "/etc"}, "vectors: not of a request"),
    ("ner", {"text": TEXT, "link": 1}, "link: not of a request"),
  ],
)
def test_faults_of_a_request_are_one_line(server, model, body, fault):
  status, found = asked(server, model, **body)
  assert status == 400 and fault in found["fault"] and "\n" not in found["fault"]


def test_no_request_names_a_folder_of_the_server():
  """Whoever gives `predict` another setting decides here who may set it."""
  assert {"link", "vectors", "knowledge", "shapes"} <= LOCAL
  assert {"threshold", "labels", "nested", "several"} >= SETTINGS


@pytest.mark.parametrize(
  "body, fault",
  [
    ({"text": 7}, "text: missing"),
    ({"text": TEXT, "layer": 9}, "layer: 9"),
    ({"text": TEXT, "layer": True}, "layer: True; expected a number"),
    ({"text": TEXT, "head": "1"}, "head: '1'; expected a number"),
    ({"text": "a " * 100}, "expected at most 64"),
  ],
)
def test_faults_of_a_request_for_attention_are_one_line(server, body, fault):
  status, found = asked(server, "ner", "/attention", **body)
  assert status == 400 and fault in found["fault"] and "\n" not in found["fault"]


def test_texts_that_are_too_long_are_refused(server):
  for text, place in (("x" * 20_001, "text"), (["a", "x" * 20_001], "text 1")):
    status, found = asked(server, "ner", text=text)
    assert status == 413
    assert found["fault"] == f"{place}: 20,001 characters; expected at most 20,000"
  status, found = asked(server, "ner", text="각" * 7_000)  # three bytes each, which are its pieces
  assert status == 413 and found["fault"].endswith("word pieces; expected at most 20,000")
  status, found = asked(server, "ner", text=TEXT, labels=list(map(str, range(1001))))
  assert status == 413 and found["fault"] == "labels: 1,001 of them; expected at most 1,000"


@pytest.mark.parametrize(
  ("body", "fault"),
  [
    ("", "the body is no JSON: empty; expected an object such as"),
    ("{'text': 1}", "the body is no JSON: Expecting property name"),
    (b'{"text": "Zo\xeb"}', "the body is no JSON: 'utf-8' codec can't decode"),
    ('{"text": "a", "threshold": NaN}', "the body is no JSON: NaN is no number"),
    ("[1]", "the body is no object; expected an object such as"),
    ("[" * 100_000, "the body is nested too deeply; expected an object"),
  ],
)
def test_a_body_that_is_no_object_is_told(server, body, fault):
  reply, text = request(server, "POST", "/predict", body)
  assert reply.status == 400 and json.loads(text)["fault"].startswith(fault)


def test_empty_texts_have_no_answers(server):
  for text in ("", " \n", "\u200b", "🏝", "नमस्ते दुनिया"):
    status, found = asked(server, "ner", text=text)
    assert status == 200 and isinstance(found["prediction"], list), found


@pytest.mark.parametrize(
  "headers, status",
  [
    ({"Host": "example.org"}, 403),
    ({"Host": "example.org:80"}, 403),
    ({"Host": "127.0.0.1.example.org"}, 403),
    ({"Content-Type": "text/plain"}, 415),
    ({"Content-Type": ""}, 415),
    ({"Content-Encoding": "gzip"}, 415),
    ({"Content-Type": "Application/JSON; charset=utf-8"}, 200),
    ({"Content-Length": str(10**9)}, 413),
  ],
)
def test_what_is_not_from_the_page_is_refused(server, headers, status):
  reply, _ = request(server, "POST", "/predict", {"text": TEXT, "model": "ner"}, **headers)
  assert reply.status == status


@pytest.mark.parametrize("length", ["-1", "1" * 5000, "²"])
def test_a_length_that_is_no_number_is_refused(server, length):
  with sent_raw(server, head_of(server, length)) as client:
    assert client.recv(12) == b"HTTP/1.1 400"


def test_bodies_that_are_too_large_are_read_and_refused(server):
  large = json.dumps({"model": "ner", "text": ["x" * 1000] * 1000})
  reply, text = request(server, "POST", "/predict", large)
  assert reply.status == 413 and json.loads(text) == {"fault": "expected at most 1,000,000 bytes"}
  reply, text = request(server, "POST", "/predict", iter([large.encode()] * 2))  # in chunks
  assert reply.status == 413


def test_nothing_else_is_served(server):
  paths = ("/../server.py", "/page.html", "/models.py", "//etc/passwd", "/%2e%2e/server.py")
  for path in (*paths, "/predict/"):
    reply, text = request(server, "GET", path)
    assert reply.status == 404 and "not found" in json.loads(text)["fault"]
  reply, text = request(server, "GET", "/predict")
  assert reply.status == 405 and "GET /predict: method not allowed; expected POST" in text
  with sent_raw(server, b"GET /health HTTP/1.0\r\n\r\n") as client:  # without a host
    assert client.recv(12) == b"HTTP/1.1 200"
  for body in ("no json", "[" * 100_000, "[]", '{"text": NaN}', b"\xff", ""):
    reply, text = request(server, "POST", "/predict", body)
    assert reply.status == 400 and "\n" not in json.loads(text)["fault"]


def test_what_nobody_waits_for_is_not_computed(server, service, monkeypatch):
  """Who types asks again at every letter, and leaves the question before."""
  computed = []

  def compute(model, question, in_json):
    return lambda items: computed.extend(x.value["text"] for x in items) or [[] for _ in items]

  monkeypatch.setattr("luke_jax.serve.service.compute", compute)
  go_on = busy(service)
  for text in "abc":
    body = json.dumps({"text": text, "model": "ner"}).encode()
    with sent_raw(server, head_of(server, len(body)) + body):
      wait_for(lambda: service.joined.waiting == 2)
    wait_for(lambda: service.joined.waiting == 1)
  threading.Timer(0.2, go_on.set).start()
  assert asked(server, "ner", text="abcd") == (200, {"model": "ner", "prediction": []})
  assert computed == ["abcd"]


def test_more_than_may_wait_are_refused_at_once(server, service, monkeypatch):
  monkeypatch.setattr(service.joined, "_most_waiting", 1)
  go_on = busy(service)
  reply, text = request(server, "POST", "/predict", {"text": TEXT, "model": "ner"})
  assert reply.status == 429 and "too many requests" in text and reply.headers["Retry-After"]
  go_on.set()
  wait_for(lambda: service.joined.waiting == 0)
  assert asked(server, "ner", text=TEXT)[0] == 200


def test_who_waits_too_long_is_told(server, service, monkeypatch):
  monkeypatch.setattr(service, "limits", Limits(seconds=0.1))
  go_on = busy(service)
  reply, text = request(server, "POST", "/predict", {"text": TEXT, "model": "ner"})
  assert reply.status == 503 and "no answer within 0.1 seconds" in text
  go_on.set()
  with sent_raw(server, head_of(server, 100)) as client:  # and a body that does not come
    assert client.recv(12) == b"HTTP/1.1 408"


def test_headers_that_do_not_come_end_the_connection(server, monkeypatch):
  monkeypatch.setattr("luke_jax.serve.server.HEADER_SECONDS", 0.1)
  for beginning in (b"", b"GET /health HTTP/1.1\r\n"):
    with sent_raw(server, beginning) as client:
      assert client.recv(1) == b""


def ends_in_spite_of_drops(client, every=0.02):
  """Whether a connection ends while a byte comes now and then."""
  with contextlib.suppress(ConnectionError):
    for _ in range(200):
      client.sendall(b" ")
      time.sleep(every)
    return False
  return True


@pytest.mark.parametrize(
  "line", ["GET /health", "GET /nowhere", "DELETE /predict", "POST /attention"]
)
def test_a_refusal_whose_body_nobody_read_ends_the_connection(server, monkeypatch, line):
  monkeypatch.setattr("luke_jax.serve.server.REST_SECONDS", 0.1)
  head = f"{line} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n"
  with sent_raw(server, head.encode()) as client:
    assert client.recv(9) == b"HTTP/1.1 "
    assert ends_in_spite_of_drops(client)
  monkeypatch.setattr("luke_jax.serve.server.REST_SECONDS", 5)
  # Who sends the body in time reads the answer and may ask again.
  with sent_raw(server, head.encode() + b" " * 100_000) as client:
    assert client.recv(9) == b"HTTP/1.1 "
    client.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    answers = b""
    while b'{"health":"ok"}' not in answers:
      answers += (more := client.recv(4096))
      assert more


def test_who_does_not_read_answers_is_left(server, monkeypatch):
  """Answers to many requests fill what the system keeps, and the next one waits."""
  monkeypatch.setattr("luke_jax.serve.server.REST_SECONDS", 0.1)
  monkeypatch.setattr(server._server.config, "timeout_graceful_shutdown", 0.3)
  page = b"GET /page.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
  with sent_raw(server, page * 2000) as client, contextlib.suppress(ConnectionError):
    wait_for(lambda: not server._server.server_state.connections)
    client.recv(1)


def test_connections_are_as_many_as_there_are_descriptors(monkeypatch):
  limits = [(1024, 1 << 20)]
  monkeypatch.setattr("resource.getrlimit", lambda _: limits[-1])
  monkeypatch.setattr("resource.setrlimit", lambda _, both: limits.append(both))
  assert room_for_connections() == (1000, 128) and limits[-1][0] > 1000 + 128
  limits.append((256, 256))
  with pytest.warns(UserWarning, match="connections at once, as ulimit -n is 256; expected 1,"):
    most, waiting = room_for_connections()
  assert most >= 8 and waiting >= 1 and most + 4 * waiting < 256


def test_connections_that_ask_nothing_lock_nobody_out(server, monkeypatch):
  monkeypatch.setattr("luke_jax.serve.server.IDLE_SECONDS", 0)
  wait_for(lambda: not server._server.server_state.connections)
  monkeypatch.setattr(server._server.config, "limit_concurrency", 4)
  with contextlib.ExitStack() as stack:
    idle = [stack.enter_context(sent_raw(server, b"")) for _ in range(9)]
    assert idle[0].recv(1) == b""
    assert request(server, "GET", "/health")[0].status == 200


def test_of_too_many_connections_that_all_ask_some_are_refused(server, monkeypatch):
  connections = server._server.server_state.connections
  wait_for(lambda: not connections)
  monkeypatch.setattr(server._server.config, "limit_concurrency", 4)
  with contextlib.ExitStack() as stack:
    for asking in range(1, 4):
      stack.enter_context(sent_raw(server, head_of(server, 100)))
      wait_for(lambda: [x._phase for x in connections] == ["request"] * asking)  # noqa: B023
    for _ in range(2):  # one after the other: one that has not asked yet gives way to the next
      refused = stack.enter_context(sent_raw(server, head_of(server, 100)))
      assert refused.recv(12) == b"HTTP/1.1 503"
  wait_for(lambda: not connections)


def test_a_fault_of_ours_is_one_line_and_the_server_goes_on(server, monkeypatch, caplog):
  def failing(*_):
    raise ZeroDivisionError("secret of the text")

  monkeypatch.setattr("luke_jax.serve.models.predict", failing)
  reply, text = request(server, "POST", "/predict", {"text": TEXT, "model": "ner"})
  assert reply.status == 500 and json.loads(text)["fault"].startswith("a fault of luke-jax")
  assert "ZeroDivisionError" in caplog.text and "secret" not in text
  monkeypatch.undo()
  assert asked(server, "ner", text=TEXT)[0] == 200


@contextlib.contextmanager
def mounted(inner):
  """A server of uvicorn's own with an application of others, in which ours is mounted."""
  outer = Starlette(routes=[Mount("/luke", inner)])
  with socket.create_server(("127.0.0.1", 0)) as listening:
    made = uvicorn.Server(uvicorn.Config(outer, log_config=None, ws="none"))
    thread = threading.Thread(target=made.run, kwargs={"sockets": [listening]})
    thread.start()
    port = listening.getsockname()[1]
    yield types.SimpleNamespace(port=port, address=f"http://127.0.0.1:{port}/")
    made.should_exit = True
    thread.join()


def test_it_mounts_in_another_application_and_is_ready_there(models, monkeypatch):
  monkeypatch.setattr("luke_jax.serve.service.EXACT", ((1, 1), (1, 4)))
  steps = []
  monkeypatch.setattr("luke_jax.serve.service.Service._refined", lambda _, x: steps.append(x.value))
  inner = application({"ner": models["ner"]})
  inner.state.service.warmed.result(timeout=120)
  assert not steps  # an application that nobody asks compiles no more
  with mounted(inner) as server:
    assert request(server, "GET", "/luke/ready")[0].status == 200
    wait_for(lambda: [x[1:] for x in steps] == [(1, 1), (1, 4)])
    client = Client(f"{server.address}luke")
    assert close(client.predict(TEXT), as_json(models["ner"].predict(TEXT)))
    described = json.loads(request(server, "GET", "/luke/openapi.json")[1])
    assert described["servers"] == [{"url": "/luke"}]
    found = json.loads(request(server, "GET", "/luke/nowhere")[1])
    assert found["fault"].startswith("GET /luke/nowhere: not found; ")
    assert len(steps) == 2  # once, however many requests come


def test_a_mounted_one_that_cannot_get_ready_says_why(models, monkeypatch):
  def fails(service, steps):
    raise MemoryError("no room")

  monkeypatch.setattr("luke_jax.serve.service.Service._warm", fails)
  inner = application({"ner": models["ner"]})
  with mounted(inner) as server:
    wait_for(inner.state.service.warmed.done)
    reply, text = request(server, "GET", "/luke/ready")
    assert reply.status == 503
    assert json.loads(text)["fault"] == "not ready: a program failed: MemoryError('no room')"


def test_many_clients_at_once_get_right_answers_whatever_others_send(models, monkeypatch):
  """A second of what `python -m tests.faults.load` does for minutes."""
  monkeypatch.setattr("luke_jax.serve.server.HEADER_SECONDS", 0.3)
  texts = [f"{TEXT} {name} met Bo." for name in ("Ana", "Zahir Castrel", "Cleo of Zahir")]
  expected = [(text, as_json(models["ner"].predict(text))) for text in (*texts, *TEXT.split(), "")]
  made = application({"ner": models["ner"]})
  with Server(made, port=0) as server:
    made.state.service.warmed.result(timeout=120)
    tally = faulty_clients.load(server.address, expected, 1.5, clients=8, faults=True)
  assert tally.wrong == [] and len(tally.seconds) >= 8
  assert tally.statuses["slow: ended"] >= 1
  assert tally.statuses.keys() >= {
    f"{x}: {status}" for x, (_, status) in faulty_clients.FAULTS.items()
  }


@settings(deadline=20_000, suppress_health_check=list(HealthCheck))
@given(text=st.text(max_size=200))
def test_any_text_has_an_answer(server, text):
  status, found = asked(server, "ner", text=text)
  assert status == 200
  assert all(0 <= x["start"] < x["end"] <= len(text) for x in found["prediction"])


def test_a_model_for_no_task_is_refused(directories, tmp_path):
  start = directories["ner"].parent / "start"
  with pytest.raises(InputError, match=r"^start: "):
    application({"start": load(start)})
  with pytest.raises(InputError, match="models: none"):
    application({})
  with pytest.raises(InputError, match=r"nowhere"):
    read_models([tmp_path / "nowhere"])


def test_a_port_in_use_is_one_line(server, directories, capsys):
  ner = str(directories["ner"])
  assert main(["try", ner, "--port", str(server.port), "--no-browser"]) == 2
  assert "expected an address of this machine and a free port" in capsys.readouterr().err
  assert main(["try", ner, "--port", "99999", "--no-browser"]) == 2
  assert main(["serve", ner, "--host", "192.0.2.1", "--port", "0"]) == 2
  assert main(["serve", ner, "--seconds", "0"]) == 2


def test_an_empty_token_is_no_token(directories, monkeypatch, capsys):
  monkeypatch.setenv("LUKE_JAX_TOKEN", " ")
  assert main(["serve", str(directories["ner"])]) == 2
  assert capsys.readouterr().err.endswith(
    "LUKE_JAX_TOKEN: empty; expected a token, or no such variable\n"
  )


def test_without_the_extra_a_line_says_how_to_install_it(directories, monkeypatch, capsys):
  monkeypatch.delitem(sys.modules, "luke_jax.serve.asgi", raising=False)
  monkeypatch.setitem(sys.modules, "starlette.applications", None)
  for command in ("try", "serve"):
    assert main([command, str(directories["ner"])]) == 2
    said = capsys.readouterr().err
    assert "starlette: not installed; expected it to serve: " in said
    assert said.rstrip("'\n").endswith("[serve]") and said.count("\n") == 1
