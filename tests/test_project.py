"""Files beside the package that others read: versions they name, and their form."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.utils import canonicalize_name

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


def test_the_container_installs_the_versions_of_the_constraints_by_their_hashes():
  """A change of pyproject.toml or constraints.txt needs `make hashes`."""
  text = (ROOT / "constraints-hashed.txt").read_text(encoding="utf-8")
  blocks = re.findall(r"^([\w.-]+)==([^ \n]+)(.*(?:\n +.*)*)", text, re.MULTILINE)
  hashed = {canonicalize_name(name): version for name, version, _ in blocks}
  assert len(blocks) == len(hashed) == len(re.findall(r"^[^# \n]", text, re.MULTILINE))
  assert all(re.search("--hash=sha256:[0-9a-f]{64}", rest) for _, _, rest in blocks)
  assert "//" not in text  # no address of an index
  known = (ROOT / "constraints.txt").read_text(encoding="utf-8")
  pins = re.findall(r"^([\w.-]+)==([^\s;]+)", known, re.MULTILINE)
  versions = {canonicalize_name(name): version for name, version in pins}
  here = {name: version for name, version in hashed.items() if name in versions}
  assert here == {name: versions[name] for name in here}
  # Packages of systems that CI has none of, and what builds luke_jax.
  elsewhere = {"colorama", "httpx2-jsfetch", "nest-asyncio", "setuptools"}
  assert hashed.keys() - versions.keys() <= elsewhere
  project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
  wanted = [*project["dependencies"], *project["optional-dependencies"]["serve"], "setuptools"]
  names = {canonicalize_name(re.match(r"[\w.-]+", x)[0]) for x in wanted}
  assert names <= hashed.keys()
  assert "--require-hashes" in (ROOT / "Containerfile").read_text(encoding="utf-8")
