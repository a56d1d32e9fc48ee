"""Every notebook runs to its last cell, on the CPU, and leaves nothing but the folder runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "colab").glob("*.ipynb"))
AS_USERS = ("XLA_FLAGS",)  # which tests set, and users do not


@pytest.mark.notebook
@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_notebook_runs(notebook, tmp_path):
  (tmp_path / "colab").mkdir()
  (tmp_path / "colab" / notebook.name).write_bytes(notebook.read_bytes())
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
