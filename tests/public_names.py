"""Names that people depend on, a line for each thing that has some: `name: member member`.

`goldens/make_release.py` writes those of a version, for tests/test_public_names.py.
"""

import dataclasses
import importlib
import inspect
import re
from pathlib import Path

import flax.linen as nn
from tiny import tiny_model

import luke_jax
import luke_jax.serve
import luke_jax.show
from luke_jax.cli import MOVED
from luke_jax.models.head import Head
from luke_jax.models.system import System
from luke_jax.serve import openapi
from luke_jax.serve.models import ServedModel
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.known import CLASSES, task_class

DOCS = Path(__file__).resolve().parent.parent / "docs"
LISTED = re.compile(r"^\.\. auto(?:function|class|module):: (\S+)$", re.MULTILINE)
CONTRACTS = (TextTask, System, Head)


def public_names() -> list[str]:
  """Returns the lines, in order."""
  lines = {**of_python(), **of_commands(), **of_http()}
  return [
    f"{name}: {' '.join(sorted(members))}".rstrip() for name, members in sorted(lines.items())
  ]


def named(path: str) -> object:
  """Returns what a dotted path names."""
  try:
    return importlib.import_module(path)
  except ModuleNotFoundError:
    module, _, name = path.rpartition(".")
    return getattr(named(module), name)


def of_python() -> dict[str, set[str]]:
  """Returns what the API reference lists and the `__all__` of its modules, with their members."""
  listed = {path: named(path) for path in LISTED.findall((DOCS / "api.rst").read_text("utf-8"))}
  found = {}
  for module in (luke_jax, luke_jax.show, luke_jax.serve):
    found[module.__name__] = set(module.__all__)
    listed |= {f"{module.__name__}.{name}": getattr(module, name) for name in module.__all__}
  for path, thing in list(listed.items()):
    if inspect.ismodule(thing) and not hasattr(thing, "__all__"):
      classes = {k: x for k, x in vars(thing).items() if getattr(x, "__module__", "") == path}
      listed |= {f"{path}.{name}": x for name, x in classes.items()}
  for path, thing in listed.items():
    if inspect.isclass(thing):
      found |= of_class(path, thing)
    elif callable(thing):
      found[path] = parameters(thing)
  return found


def of_class(path: str, kind: type) -> dict[str, set[str]]:
  """Returns a class with its members, and each of its methods with its parameters."""
  foreign = {
    x for base in (nn.Module, Exception, tuple) if issubclass(kind, base) for x in dir(base)
  }
  if kind is luke_jax.Model:
    members = set(dir(tiny_model(text=False)))  # which leaves out what is internal
  else:
    members = set(dir(kind)) | set(getattr(kind, "__annotations__", ()))
  if dataclasses.is_dataclass(kind) and not issubclass(kind, nn.Module):
    members |= {field.name for field in dataclasses.fields(kind)}
  members = {name for name in members - foreign if not name.startswith("_")}
  found = {path: members}
  for name in {*members, "__call__", "__init__"} & set(dir(kind)):
    method = inspect.getattr_static(kind, name)
    method = getattr(method, "__func__", method)
    if inspect.isfunction(method) and method.__module__.startswith("luke_jax."):
      found[f"{path}.{name}"] = parameters(method)
  return found


def parameters(function: object) -> set[str]:
  """Returns the names of a function's parameters."""
  return set(inspect.signature(function).parameters) - {"self", "cls"}


def of_commands() -> dict[str, set[str]]:
  """Returns the commands with their options, as their pages have them; a test keeps these."""
  found: dict[str, set[str]] = {f"luke-jax {name}": set() for name in MOVED}  # answered in a line
  for page in (DOCS / "cli").glob("*.md"):
    for section in page.read_text("utf-8").split("\n## `")[1:]:
      name = section.partition("`")[0]
      options = re.findall(r"^\| `(--[a-z][\w.-]*)", section, re.MULTILINE)
      found[f"luke-jax {name}"] = set(options)
  return found


def of_http() -> dict[str, set[str]]:
  """Returns the addresses, statuses and fields of `luke-jax serve`."""
  parts = openapi._PARTS
  task = task_class("typing")(labels=("person", "place", "work"))
  answer = openapi._answer("types", task)
  served = ServedModel("types", tiny_model("LukeForEntityClassification"), task)
  found = {
    "HTTP": {"/predict", *parts["gets"], *parts["statuses"]},
    "HTTP /predict": set(parts["request"]["properties"]) | set(answer["properties"]),
    "HTTP /models": set(served.about()),
    "HTTP a fault": set(parts["fault"]["content"]["application/json"]["schema"]["properties"]),
  }
  for name in CLASSES:
    found |= of_schema(f"HTTP {name}", openapi.prediction_schema(task_class(name)))
  return found


def of_schema(name: str, schema: dict) -> dict[str, set[str]]:
  """Returns the fields of a schema, and of those within it."""
  fields = schema.get("properties", {})
  found = {name: set(fields)} if fields else {}
  inner = {key: x for key, x in fields.items() if isinstance(x, dict)}
  alternatives = {x.get("title", ""): x for x in schema.get("anyOf", ())}
  items = {"": schema["items"]} if "items" in schema else {}
  for key, part in {**inner, **alternatives, **items}.items():
    found |= of_schema(f"{name} {key}".rstrip(), part)
  return found


if __name__ == "__main__":
  print(*public_names(), sep="\n")
