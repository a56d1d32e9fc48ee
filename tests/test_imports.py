"""Every module of the package imports, on every Python and without a warning."""

import pkgutil
import subprocess
import sys

import luke_jax

IMPORT = """
import importlib, sys, warnings
warnings.simplefilter("error", SyntaxWarning)
warnings.filterwarnings("error", category=DeprecationWarning, module="luke_jax")
for name in sys.argv[1:]:
  importlib.import_module(name)
"""


def test_every_module_imports():
  walked = pkgutil.walk_packages(luke_jax.__path__, "luke_jax.")
  names = [x.name for x in walked if x.name != "luke_jax.__main__"]
  assert len(names) > 200
  command = [sys.executable, "-c", IMPORT, *names]
  done = subprocess.run(command, capture_output=True, text=True, check=False)
  assert done.returncode == 0, done.stderr
