"""Checks that a checkpoint holds what was saved: sums of arrays, a digest of their description."""

import functools
import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, sizes
from luke_jax.files.copies import local
from luke_jax.lazy import Lazy

if TYPE_CHECKING:
  from orbax.checkpoint import v1 as ocp
else:
  ocp = Lazy("orbax.checkpoint", "v1")

State = dict[str, Any]

SIZES = "sizes.json"
_ORBAX = "_CHECKPOINT_METADATA"  # where Orbax keeps a checkpoint's own metadata
_SUMS = 2  # version: since it, swapped rows change a sum
_LITTLE = 2**24  # bytes that are added up sooner than a program for them is compiled
# Codes of TensorStore for faults of the disk or the network that may pass.
_PASSING = re.compile(
  r"\b(UNAVAILABLE|DEADLINE_EXCEEDED|ABORTED|CANCELLED|RESOURCE_EXHAUSTED|PERMISSION_DENIED"
  r"|UNAUTHENTICATED|INTERNAL|UNKNOWN)\b"
)


class DamageError(ValueError):
  """Fault of a checkpoint's own files."""


def description(state: State, scores: Mapping[str, float] | None) -> dict[str, Any]:
  """Returns shapes, dtypes and sums of a state's arrays, its scores, and a digest of all that."""
  arrays = described(state)
  for name, number in sums(state, _SUMS).items():
    arrays[name].append(number)
  values = {"arrays": arrays, "scores": dict(scores or {}), "sums": _SUMS}
  return values | {"digest": _digest(values)}


def read_description(folder: Path) -> dict[str, object]:
  """Returns the `description` of a checkpoint; raises DamageError for a file that holds none."""
  try:
    text = local(folder / _ORBAX).read_text(encoding="utf-8")
    values = json.loads(text)["custom_metadata"]
    arrays = values["arrays"]
    if "digest" not in values:  # written before there were digests
      return {"arrays": arrays, "scores": _older_scores(folder), "sums": 1}
  except FileNotFoundError:
    raise DamageError(f"{_ORBAX} is missing") from None
  except InputError:  # of a bucket that could not be read, which says nothing of the file
    raise
  except (ValueError, KeyError, TypeError, RecursionError):
    raise DamageError(f"{_ORBAX} is not what was saved") from None
  if values.pop("digest") != _digest(values):
    raise DamageError(f"{_ORBAX} differs from what was saved")
  return values


def check_sizes(folder: Path) -> None:
  """Raises DamageError for a file of another size: Orbax logs much about truncated ones."""
  try:
    expected = json.loads(local(folder / SIZES).read_text(encoding="utf-8"))
    actual = sizes(folder)
    for name, size in expected.items():
      if actual.get(name) != size:
        raise DamageError(f"{name} has {actual.get(name, 'no')} bytes, not {size}")
  except FileNotFoundError:  # if the run was killed right after writing
    return
  except (InputError, DamageError):
    raise
  except (ValueError, AttributeError):
    raise DamageError(f"{SIZES} is not JSON") from None


def may_pass(fault: Exception) -> bool:
  """Returns whether a fault in reading may be one of the disk or network, not of the files."""
  if isinstance(fault, OSError):
    return not isinstance(fault, FileNotFoundError)
  return not isinstance(fault, DamageError) and bool(_PASSING.search(str(fault)))


def described(state: State) -> dict[str, list]:
  """Returns shape and dtype of every array; an empty list for placeholders."""
  return {
    name: [] if x is ocp.PLACEHOLDER else [list(x.shape), str(x.dtype)]
    for name, x in _named(state).items()
  }


def check_arrays(path: Path, saved: Mapping[str, list], expected: Mapping[str, list]) -> None:
  """Raises InputError for arrays of another experiment; placeholders are not compared."""
  for name in sorted(saved.keys() | expected.keys()):
    there, here = saved.get(name, ["none"])[:2], expected.get(name, ["none"])
    if here and there != here:
      shown = [" ".join(map(str, x)) for x in (there, here)]
      raise InputError(
        f"{path}: {name}: {shown[0]}; expected {shown[1]}, as this experiment has it"
      )


def check_sums(state: State, saved: Mapping[str, Any]) -> None:
  """Raises DamageError for an array whose sum is not the saved one."""
  for name, number in sums(state, saved["sums"]).items():
    if number != saved["arrays"][name][2]:
      raise DamageError(f"{name} differs from what was saved")


def sums(state: State, version: int) -> dict[str, int]:
  """Returns the sum of every array's bits, as Orbax does not notice a flipped bit."""
  arrays = {name: x for name, x in _named(state).items() if x is not ocp.PLACEHOLDER}
  plain, weighted = [_without_keys(x) for x in arrays.values()], version > 1
  little = jax.process_count() == 1 and sum(x.nbytes for x in plain) < _LITTLE
  totals = [_sum(np.asarray(x), np, weighted) for x in plain] if little else _sums(plain, weighted)
  return dict(zip(arrays, map(int, jax.device_get(totals)), strict=True))


@functools.partial(jax.jit, static_argnums=1)
def _sums(arrays: list[jax.Array], weighted: bool) -> jax.Array:
  # One program for all arrays: processes that run many small ones at once can deadlock.
  return jnp.stack([_sum(x, jnp, weighted) for x in arrays])


def _without_keys(x: jax.Array) -> jax.Array:
  return jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x


def _sum(x: Any, numpy: Any, weighted: bool) -> Any:
  """Returns the sum of an array's bits modulo 2^32, by NumPy or by JAX's form of it."""
  bits = x.view(numpy.uint32)
  with np.errstate(over="ignore"):
    if weighted:
      bits = bits * _weights(bits.shape, numpy)
    return bits.sum(dtype=numpy.uint32)


def _weights(shape: tuple[int, ...], numpy: Any) -> Any:
  """Returns an odd number for each place of an array, by which elements cannot change places."""
  place = numpy.zeros(shape, numpy.uint32)
  for axis, size in enumerate(shape):
    along = numpy.arange(size, dtype=numpy.uint32)
    along = along.reshape((-1, *(1 for _ in shape[axis + 1 :])))
    place = place * numpy.uint32(size) + along
  # The last rounds of MurmurHash3 mix the bits, so that differences are not multiples of 2^k.
  for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
    place = (place ^ (place >> shift)) * numpy.uint32(factor)
  return (place ^ (place >> 16)) | numpy.uint32(1)


def _named(state: State) -> dict[str, jax.Array]:
  leaves = jax.tree_util.tree_leaves_with_path(state)
  return {jax.tree_util.keystr(path, simple=True, separator="/"): x for path, x in leaves}


def _digest(values: Mapping[str, object]) -> str:
  return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _older_scores(folder: Path) -> dict[str, float]:
  """Returns the scores that Orbax wrote, as runs did before scores had a digest."""
  path = folder / "metrics" / "metrics"
  if not path.is_file():
    return {}
  scores = json.loads(path.read_text(encoding="utf-8"))
  if not all(isinstance(x, int | float) for x in scores.values()):
    raise ValueError(f"{path}: not numbers")
  return scores
