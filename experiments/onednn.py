"""Any command of luke-jax with its large products in bfloat16, on a CPU with AMX.

    python -m experiments.onednn train labels --train train.jsonl --model english-base …

The operands of products are rounded to bfloat16, all else is in float32: as in mixed precision.
XLA has no such product for AMX, so it is PyTorch's, of oneDNN, called from XLA's program by a
library that g++ builds once from onednn.cc. Needs torch, g++ and Linux. The models in the box over
MPNet were trained so, on a core of an Intel Xeon at 416 tokens a second, and 251 without; 515 with
MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000 MALLOC_ARENA_MAX=1, as these were.
"""

import ctypes
import math
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax
import jax._src.lax.lax as products  # of which the usual lowering is no public name
import numpy as np
from jax.interpreters import mlir

from luke_jax.cli import main
from luke_jax.files import cache_folder
from luke_jax.nn import layers

SOURCE = Path(__file__).with_suffix(".cc")
LARGE = 2e7  # multiplications of a product that is worth two roundings


def library() -> ctypes.CDLL:
  """Returns the built library."""
  found = find_spec("torch")
  if found is None or found.origin is None:
    raise SystemExit("torch: not installed; expected `pip install torch` before")
  torch = Path(found.origin).parent
  built = cache_folder() / "onednn.so"
  if not built.exists() or built.stat().st_mtime < SOURCE.stat().st_mtime:
    built.parent.mkdir(parents=True, exist_ok=True)
    part = built.with_suffix(f".{os.getpid()}")
    command = ["g++", "-O2", "-w", "-std=c++20", "-fPIC", "-shared", f"-I{jax.ffi.include_dir()}"]
    command += [f"-I{torch / 'include'}", str(SOURCE), "-o", str(part), f"-L{torch / 'lib'}"]
    command += ["-ltorch_cpu", "-lc10", f"-Wl,-rpath,{torch / 'lib'}"]
    subprocess.run(command, check=True)
    part.rename(built)
  return ctypes.CDLL(str(built))


def lowered(
  ctx: mlir.LoweringRuleContext, left: Any, right: Any, *, dimension_numbers: Any, **other: Any
) -> Any:
  """Returns a product in the form that XLA compiles: the library's, or the usual one."""
  (of_left, of_right), batch = dimension_numbers
  first, second = ctx.avals_in
  turned = _turned(of_left, first.ndim, last=True), _turned(of_right, second.ndim, last=False)
  types = {x.dtype for x in (*ctx.avals_in, *ctx.avals_out)}
  inner = math.prod(first.shape[axis] for axis in of_left)
  m, n = first.size // max(1, inner), second.size // max(1, inner)
  if any(batch) or None in turned or types != {np.dtype("float32")} or m * n * inner < LARGE:
    return products._dot_general_lower(
      ctx, left, right, dimension_numbers=dimension_numbers, **other
    )
  sizes = {"m": np.int64(m), "n": np.int64(n), "k": np.int64(inner)}
  rule = jax.ffi.ffi_lowering("onednn_product")
  return rule(ctx, left, right, **sizes, left_turned=turned[0], right_turned=turned[1])


def _turned(summed: tuple[int, ...], axes: int, *, last: bool) -> bool | None:
  """Returns whether the summed axes of an array are at its other end; None: at neither."""
  ends = tuple(range(axes - len(summed), axes)), tuple(range(len(summed)))
  usual, other = ends if last else ends[::-1]
  return False if summed == usual else True if summed == other else None


if __name__ == "__main__":
  built = library()
  built.UseThreads(len(os.sched_getaffinity(0)))
  jax.ffi.register_ffi_target("onednn_product", jax.ffi.pycapsule(built.Product), platform="cpu")
  mlir.register_lowering(products.dot_general_p, lowered, platform="cpu")
  layers.MANY_ROWS = sys.maxsize  # its forms of gradients are those that XLA's own product wants
  sys.exit(main())
