"""The shapes in the types of layers and heads are those of the arrays."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.slow
def test_every_array_has_the_shape_of_its_type():
  """In a process of its own, since types are checked in what is imported after a hook."""
  environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])}
  subprocess.run([sys.executable, TESTS / "shapes.py"], env=environment, check=True)
