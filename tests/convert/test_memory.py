"""Converting a large file takes little more memory than reading it."""

import subprocess
import sys

import jax
import numpy as np
import pytest
from networks import network
from peak_memory import PEAK

import luke_jax
from luke_jax.models.network import abstract_params
from luke_jax.systems.luke import SIZES

CONVERT = f"""
import sys
{PEAK}
from luke_jax.cli import main
assert main(["convert", *sys.argv[1:]]) == 0
print(peak())
"""


@pytest.mark.slow
def test_within_three_times_the_file(tmp_path):
  made = network(config=SIZES["luke-base"])
  params = jax.tree.map(lambda x: np.ones(x.shape, np.float32), abstract_params(made))
  luke_jax.Model(made, params).save(tmp_path / "model")
  size = (tmp_path / "model" / "model.safetensors").stat().st_size
  done = subprocess.run(
    [sys.executable, "-c", CONVERT, tmp_path / "model", tmp_path / "target"],
    capture_output=True,
    text=True,
    check=False,
  )
  assert done.returncode == 0, done.stderr
  assert int(done.stdout.splitlines()[-1]) < 3 * size
