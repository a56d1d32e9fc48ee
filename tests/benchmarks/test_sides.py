"""Both sides of a comparison are on devices of one kind."""

from importlib.util import find_spec

import jax
import pytest

from benchmarks import sides, tener
from luke_jax.errors import InputError

NEEDS_TORCH = pytest.mark.skipif(not find_spec("torch"), reason="needs torch")


@pytest.mark.parity
@NEEDS_TORCH
def test_pytorch_is_where_jax_is(monkeypatch):
  import torch

  assert sides.torch_device() == "cpu"
  monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
  monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
  assert sides.torch_device() == "cuda"
  monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
  with pytest.raises(InputError, match="PyTorch: no GPU, which JAX computes on; expected both"):
    sides.torch_device()


@pytest.mark.parity
@NEEDS_TORCH
def test_float32_is_as_exact_on_both_sides():
  import torch

  before = torch.get_float32_matmul_precision()
  try:
    for ours, theirs in ((None, "high"), ("highest", "highest"), ("float32", "highest")):
      with jax.default_matmul_precision(ours):
        sides.same_precision()
      assert torch.get_float32_matmul_precision() == theirs
  finally:
    torch.set_float32_matmul_precision(before)


@pytest.mark.parity
@NEEDS_TORCH
def test_a_core_is_timed_without_a_gpu(monkeypatch):
  monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
  with pytest.raises(InputError, match="expected JAX_PLATFORMS=cpu"):
    tener.run("tener-weibo", None, 8, 4, 1, dropout=True)
