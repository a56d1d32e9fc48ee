"""Description of a server's addresses, by which programs make clients."""

from typing import Any

from luke_jax import __version__
from luke_jax.serve.service import EXAMPLES, SENTENCE, Service

FAULT = {
  "description": "Refused; one line says why.",
  "content": {
    "application/json": {
      "schema": {
        "type": "object",
        "properties": {"fault": {"type": "string"}},
        "required": ["fault"],
      }
    }
  },
}
STATUSES = {
  "400": "a fault of the request",
  "401": "no token, or another",
  "408": "the body did not arrive in time",
  "413": "a body or a text is too long",
  "415": "the body is not application/json",
  "429": "too many requests wait",
  "503": "no answer in time",
}


def description(service: Service, root: str) -> dict[str, Any]:
  """Returns the description of a service that is mounted at a root, in OpenAPI 3.1."""
  gets = {
    "/models": "Describes the models.",
    "/health": "Answers as long as the process lives.",
    "/ready": "Answers with 200 once the programs are compiled, with 503 before.",
    "/metrics": "Returns figures in Prometheus's text form.",
    "/openapi.json": "Returns this description.",
  }
  return {
    "openapi": "3.1.0",
    "info": {"title": "luke_jax", "version": __version__},
    "servers": [{"url": root or "/"}],
    "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    "security": [{}, {"token": []}],
    "paths": {
      "/predict": {"post": _predict(service)},
      **{path: {"get": _get(path, what)} for path, what in gets.items()},
    },
  }


def _get(path: str, what: str) -> dict[str, Any]:
  kind = "text/plain" if path == "/metrics" else "application/json"
  responses = {"200": {"description": "Done.", "content": {kind: {}}}}
  return {"summary": what, "responses": responses | ({"503": FAULT} if path == "/ready" else {})}


def _predict(service: Service) -> dict[str, Any]:
  names = list(service.models)
  model = {"type": "string", "enum": names, "description": "May be left out if there is one."}
  one_or_many = {"type": ["string", "array"], "items": {"type": "string"}}
  schema = {
    "type": "object",
    "properties": {
      "model": model,
      "text": {**one_or_many, "description": "A text, or a list of texts."},
      "threshold": {"type": "number", "description": "Least score, for tasks that have one."},
    },
    "required": ["text"] if len(names) == 1 else ["model", "text"],
    "additionalProperties": {
      "description": "Another field of the text, such as a question; for many texts, a list."
    },
  }
  examples = {
    name: {
      "summary": f"{one.task.name} by {name}",
      "value": {"model": name, "text": f"{SENTENCE}.", **EXAMPLES.get(one.task.name, {})},
    }
    for name, one in service.models.items()
  }
  answer = {
    "type": "object",
    "properties": {
      "model": {"type": "string"},
      "prediction": {"description": "Of the text: what the task predicts, with its fields."},
      "predictions": {"type": "array", "description": "Of each text of a list, in order."},
    },
    "required": ["model"],
  }
  return {
    "summary": "Predicts for a text, or for each text of a list.",
    "requestBody": {
      "required": True,
      "content": {"application/json": {"schema": schema, "examples": examples}},
    },
    "responses": {
      "200": {
        "description": "Predicted.",
        "content": {"application/json": {"schema": answer}},
      },
      **{status: FAULT | {"description": what} for status, what in STATUSES.items()},
    },
  }
