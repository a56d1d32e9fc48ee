"""Files beside the package that others read: versions they name, and their form."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
FORMS = [*(ROOT / ".github").rglob("*.yml"), ROOT / ".pre-commit-config.yaml"]


def pinned(file, package):
  return re.search(rf"^{package}==(\S+)$", (ROOT / file).read_text(), re.MULTILINE)[1]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_forms_are_yaml(path):
  assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


def test_a_code_host_runs_what_is_there():
  script = (ROOT / ".ci/run").read_text(encoding="utf-8")
  workflow = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
  sections = re.findall(r"\.ci/run (\w+)", workflow)
  assert sections
  for name in sections:
    assert f"\n{name}() {{" in script


def test_supported_versions_are_those_that_are_asked_for_and_run():
  page = (ROOT / "docs/stability.md").read_text(encoding="utf-8")
  rows = dict(re.findall(r"^\| (Python|JAX|transformers)\b[^|]* \| (.*) \|$", page, re.MULTILINE))
  project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
  wanted = {"Python": project["requires-python"].removeprefix(">=")}
  for name, listed in (
    ("jax", project["dependencies"]),
    ("transformers", project["optional-dependencies"]["parity"]),
  ):
    wanted[{"jax": "JAX"}.get(name, name)] = next(
      x.removeprefix(f"{name}>=") for x in listed if x.startswith(f"{name}>=")
    )
  assert {name: row.split(" | ")[0] for name, row in rows.items()} == wanted
  assert f"{pinned('constraints.txt', 'jax')}:" in rows["JAX"]
  assert f"{pinned('constraints-colab.txt', 'jax')}:" in rows["JAX"]
  assert f"{pinned('constraints.txt', 'transformers')}:" in rows["transformers"]
  older = re.search(r"transformers==(\S+)", (ROOT / ".ci/run").read_text())[1]
  assert f"{older}:" in rows["transformers"]
