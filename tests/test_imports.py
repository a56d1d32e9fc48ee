"""Every module of the package imports, on every Python and without a warning."""

import pkgutil
import subprocess
import sys
from importlib.util import find_spec

import luke_jax

IN_PYTORCH = {"luke_jax.bench.torch_tener"}  # the other side of a measurement
IMPORT = """
import importlib, sys, warnings
warnings.simplefilter("error", SyntaxWarning)
warnings.filterwarnings("error", category=DeprecationWarning, module="luke_jax")
for name in sys.argv[1:]:
  importlib.import_module(name)
"""


def test_every_module_imports():
  walked = pkgutil.walk_packages(luke_jax.__path__, "luke_jax.")
  left_out = {"luke_jax.__main__"} | (set() if find_spec("torch") else IN_PYTORCH)
  names = [x.name for x in walked if x.name not in left_out]
  assert len(names) > 200
  command = [sys.executable, "-c", IMPORT, *names]
  done = subprocess.run(command, capture_output=True, text=True, check=False)
  assert done.returncode == 0, done.stderr
