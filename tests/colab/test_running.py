"""Every notebook runs to its last cell, on the CPU, and leaves nothing but the folder runs.

Trainings end after a few steps: that they learn is what the tests of tasks and `make demo` prove.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "colab").glob("*.ipynb"))
# A length in JSON's form of a cell: `epochs=3`, `\"epochs\": 3`, `run.steps=3`, `STEPS = 3`.
EPOCHS = re.compile(r'((?:epochs(?:=|\\": )|EPOCHS = 3e-3, ))\d+')
STEPS = re.compile(r"(\bsteps=|STEPS = )\d+")
NOTHING_LEARNS = ("adding_entities", "inside_the_attention", "pytorch_and_back")
AS_USERS = ("XLA_FLAGS",)  # which tests set, and users do not


@pytest.mark.notebook
@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_notebook_runs(notebook, tmp_path):
  (tmp_path / "colab").mkdir()
  cells = EPOCHS.sub(r"\g<1>0.1", notebook.read_text(encoding="utf-8"))
  cells = STEPS.sub(r"\g<1>20", cells)
  assert notebook.stem in NOTHING_LEARNS or cells != notebook.read_text(encoding="utf-8")
  (tmp_path / "colab" / notebook.name).write_text(cells, encoding="utf-8")
  for folder in ("data", "experiments"):
    (tmp_path / folder).symlink_to(ROOT / folder)
  environment = {name: value for name, value in os.environ.items() if name not in AS_USERS}
  command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--stdout"]
  ran = subprocess.run(
    [*command, notebook.name],
    cwd=tmp_path / "colab",
    env=environment,
    capture_output=True,
    text=True,
  )
  if ran.returncode:  # the last lines have the cell and its fault
    pytest.fail(f"{notebook.name}: {ran.stderr[-6000:]}", pytrace=False)
  left = {path.name for path in tmp_path.iterdir()} - {"colab", "data", "experiments", "runs"}
  assert not left, f"{notebook.name} leaves {', '.join(left)} in the repository"
