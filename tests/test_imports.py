"""Every module of the package imports, on every Python and without a warning."""

import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

from tiny import tiny_model

import luke_jax
from luke_jax.models.table import PLACES, systems

# Modules that import what an extra installs, by a package of it.
OF_EXTRAS = {
  "spacy": ("luke_jax.spacy",),
  "onnxruntime": ("luke_jax.convert.onnx.", "luke_jax.inference.eight_bits"),
}
IMPORT = """
import importlib, sys, warnings
warnings.simplefilter("error", SyntaxWarning)
warnings.filterwarnings("error", category=DeprecationWarning, module="luke_jax")
sys.modules["tensorflow_datasets"] = None  # an extra: nothing else may need it
for name in sys.argv[1:]:
  importlib.import_module(name)
"""


def test_every_module_imports():
  walked = pkgutil.walk_packages(luke_jax.__path__, "luke_jax.")
  missing = [names for package, names in OF_EXTRAS.items() if not find_spec(package)]
  left_out = ("luke_jax.__main__", *(name for names in missing for name in names))
  names = [x.name for x in walked if not x.name.startswith(left_out)]
  assert len(names) > 200
  command = [sys.executable, "-c", IMPORT, *names]
  done = subprocess.run(command, capture_output=True, text=True, check=False)
  assert done.returncode == 0, done.stderr


PREDICT = """
import sys
from luke_jax.cli import main
assert main(["predict", "ner", sys.argv[1], "Ana lives in Tokyo."]) == 0
print(*sorted({x.split(".")[2] for x in sys.modules if x.startswith("luke_jax.systems.")}))
other = {"tensorflow", "tensorflow_datasets", "torch", "apache_beam", "transformers", "pyarrow"}
of_trainings = {"array_record", "grain", "orbax", "tensorboardX", "luke_jax.training.loop"}
print(*(other | of_trainings).intersection(sys.modules))
"""


def test_a_prediction_imports_no_other_system_or_framework_and_nothing_of_trainings(tmp_path):
  tiny_model("LukeForEntitySpanClassification").save(tmp_path / "model")
  command = [sys.executable, "-c", PREDICT, str(tmp_path / "model")]
  done = subprocess.run(command, capture_output=True, text=True, check=True)
  assert done.stdout.splitlines()[1:] == ["luke", ""]


def test_the_table_has_every_model_type():
  there = {
    kind: f"{s.__module__.split('.')[2]}:{s.__name__}" for s in systems() for kind in s.model_types
  }
  assert there == PLACES


def test_the_rooms_of_the_docs_are_the_layers_that_imports_go_by():
  root = Path(luke_jax.__file__).parents[1]
  project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
  layers = project["tool"]["importlinter"]["contracts"][0]["layers"][1:]  # below __main__
  wanted = [set(re.findall(r"luke_jax\.(\w+)", layer)) for layer in layers]
  page = (root / "docs/architecture.md").read_text(encoding="utf-8")
  table = page.partition("| row | rooms |")[2].partition("\n\n")[0]
  rows = [re.findall(r"`luke_jax/(\w+)(?:\.py|/)`", line) for line in table.splitlines()[2:]]
  assert [set(row) for row in rows if row] == wanted
