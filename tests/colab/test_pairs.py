"""Notebooks and their .py say the same, begin alike, lead somewhere, and keep no outputs."""

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

FOLDER = Path(__file__).parents[2] / "colab"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
BADGE = "https://colab.research.google.com/github/luke-jax/luke_jax/blob/main/colab"
LINK = re.compile(r"\]\(([^)#]+)")
PERCENT = re.compile(r"^# %%(.*)\n", re.MULTILINE)


def cells(notebook):
  found = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
  return [(cell["cell_type"], "".join(cell["source"])) for cell in found]


def cells_of_script(script):
  """The cells of jupytext's percent format, as far as it is used here."""
  parts = PERCENT.split(script.read_text(encoding="utf-8"))[1:]
  for mark, body in zip(parts[::2], parts[1::2], strict=True):
    if mark == " [markdown]":
      yield "markdown", re.sub("^# ?", "", body.strip(), flags=re.MULTILINE)
    else:
      yield "code", body.strip()


def first_code(notebook):
  return next(source for kind, source in cells(notebook) if kind == "code")


def test_all_are_there_and_paired():
  assert len(NOTEBOOKS) == 12
  assert [path.stem for path in NOTEBOOKS] == sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_pair_is_in_step(notebook):
  script = notebook.with_suffix(".py")
  assert cells(notebook) == list(cells_of_script(script)), f"run: jupytext --sync {script}"


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_no_outputs_are_kept(notebook):
  for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
      assert cell["outputs"] == [] and cell["execution_count"] is None


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_it_begins_with_title_badge_and_the_first_cell_of_all(notebook):
  (kind, opening), (_, install) = cells(notebook)[:2]
  assert kind == "markdown" and opening.startswith("# ") and "ou will have" in opening
  assert opening.count(f"({BADGE}/{notebook.name})") == 1
  assert install == first_code(NOTEBOOKS[0])


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_every_later_cell_of_code_has_words_before_it(notebook):
  kinds = [kind for kind, _ in cells(notebook)]
  alone = [i for i in range(2, len(kinds)) if kinds[i - 2 : i + 1] == ["code"] * 3]
  assert not alone and kinds[-1] == "markdown"


@pytest.mark.parametrize("page", [*NOTEBOOKS, FOLDER / "README.md"])
def test_links_lead_to_files(page):
  for link in LINK.findall(page.read_text(encoding="utf-8")):
    assert link.startswith("https://") or (FOLDER / link).exists(), link


def test_the_list_has_every_notebook():
  rows = re.findall(r"^\| \[(\w+)\]\((\w+\.ipynb)\) \|", (FOLDER / "README.md").read_text(), re.M)
  assert sorted(rows) == [(path.stem, path.name) for path in NOTEBOOKS]


def functions_of_the_first_cell(names):
  """What a new runtime does with it, as far as it can be asked here."""
  tree = ast.parse(first_code(NOTEBOOKS[0]))
  kept = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign)
  own = [x for x in tree.body if isinstance(x, kept) and "luke_jax.cli" not in ast.unparse(x)]
  calls = ("checkout()", "install(")
  own = [x for x in own if isinstance(x, ast.FunctionDef) or not ast.unparse(x).endswith(calls)]
  own = [x for x in own if "IPython" not in ast.unparse(x)]
  exec(compile(ast.Module(own, []), "the first cell", "exec"), names)
  return names


@pytest.fixture
def fresh_runtime(monkeypatch):
  """A machine with JAX and without luke_jax; what would be run there is listed."""
  packages = {"jax": "0.7.2", "jaxlib": "0.7.2", "libtpu": "0.0.21", "numpy": "2.1.3"}
  there = [SimpleNamespace(name=name, version=version) for name, version in packages.items()]
  ran = []
  monkeypatch.setattr(
    importlib.metadata, "distributions", lambda: [SimpleNamespace(name=None), *there]
  )
  monkeypatch.setattr(subprocess, "run", lambda command, check: ran.append(command))
  return SimpleNamespace(packages=there, ran=ran)


def test_the_first_cell_fetches_and_installs_around_the_jax_that_is_there(
  fresh_runtime, tmp_path, monkeypatch
):
  monkeypatch.chdir(tmp_path)
  names = functions_of_the_first_cell({})
  names["install"](names["checkout"]())
  clone, pip = fresh_runtime.ran
  assert clone[:2] == ["git", "clone"] and clone[-2:] == [names["ADDRESS"], "luke_jax"]
  assert pip[:4] == [sys.executable, "-m", "pip", "install"]
  assert pip[5:] == [str(tmp_path / "luke_jax"), "jax==0.7.2", "jaxlib==0.7.2", "libtpu==0.0.21"]


def test_the_first_cell_does_nothing_where_luke_jax_is_installed(fresh_runtime, monkeypatch):
  fresh_runtime.packages.append(SimpleNamespace(name="luke_jax", version="0.1.0"))
  monkeypatch.chdir(FOLDER)
  names = functions_of_the_first_cell({})
  names["install"](names["checkout"]())
  assert names["checkout"]() == FOLDER.parent and not fresh_runtime.ran


def test_the_address_is_that_of_the_badges():
  address = functions_of_the_first_cell({})["ADDRESS"]
  assert BADGE.replace("colab.research.google.com/github", "github.com").startswith(address)
