"""Checks of the fields of configs, by their declared types, and of arrays for finite numbers."""

import dataclasses
import math
from collections.abc import Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from luke_jax.errors import InputError

if TYPE_CHECKING:
  from luke_jax.models.system import System

_IDS = ("pad_token_id", "bos_token_id", "eos_token_id")
_MOST = 2**31 - 1  # ids are 32-bit
_MOST_LAYERS = 10_000  # each is looked for among the tensors


def check_members(kind: type, needed: Sequence[str], what: str, contract: str) -> None:
  """Raises InputError for a class that lacks members that an abstract class asks for."""
  lacking = [name for name in needed if _is_missing(getattr(kind, name, None))]
  if lacking:
    raise InputError(
      f"{what} {kind.__name__}: no {', '.join(lacking)}; expected all that {contract} leaves to a"
      f" {what}: {', '.join(needed)}"
    )


def _is_missing(member: object) -> bool:
  return member in (None, ()) or getattr(member, "__isabstractmethod__", False)


def check_config(config: "System", may_be_zero: tuple[str, ...] = ()) -> None:
  """Raises InputError for a field of another type than declared, or out of its range."""
  check_fields(config, may_be_zero)
  if config.num_hidden_layers > _MOST_LAYERS:
    raise InputError(
      f"num_hidden_layers: {config.num_hidden_layers}; expected {_MOST_LAYERS} at most"
    )
  if config.hidden_size % config.num_attention_heads:
    raise InputError(
      f"hidden_size: {config.hidden_size}; expected a multiple of num_attention_heads,"
      f" {config.num_attention_heads}"
    )


def check_fields(value: Any, may_be_zero: tuple[str, ...] = ()) -> None:
  """Raises InputError for a field of a dataclass that its declared type does not allow."""
  kinds = get_type_hints(type(value))
  for name in (field.name for field in dataclasses.fields(value)):
    _check(name, getattr(value, name), kinds[name], least=0 if name in (*may_be_zero, *_IDS) else 1)


def _check(name: str, value: object, kind: object, least: int) -> None:
  optional = NoneType in get_args(kind)
  if optional and value is None:
    return
  if optional:
    (kind,) = (k for k in get_args(kind) if k is not NoneType)
    least = 0
  expected = None
  if get_origin(kind) is Literal:
    if value not in get_args(kind):
      expected = f"one of {', '.join(map(repr, get_args(kind)))}"
  elif kind is int:
    if type(value) is not int or not least <= value <= _MOST:
      expected = f"a whole number from {least} to {_MOST}"
  elif kind is float:
    most = 1.0 if "dropout" in name else math.inf
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value < most:
      expected = "a number from 0" + (" to below 1" if most == 1.0 else "")
  elif kind is bool and type(value) is not bool:
    expected = "true or false"
  elif kind is str and not isinstance(value, str):
    expected = "a string"
  if expected:
    raise InputError(f"{name}: {value!r}; expected {expected}")


def is_finite(array: np.ndarray) -> bool:
  """Returns whether all numbers of a float32 array are finite, in one pass and without a copy."""
  flat = array.reshape(-1)
  with np.errstate(all="ignore"):
    # Finite sums of squares have finite terms; others may be sums of large ones.
    return bool(np.isfinite(np.dot(flat, flat)) or np.isfinite(flat).all())


def check_finite(name: str, array: np.ndarray) -> None:
  """Raises InputError for an array with numbers that are not finite."""
  if not is_finite(array):
    count = array.size - np.count_nonzero(np.isfinite(array))
    raise InputError(f"{name}: {count} of {array.size} numbers are not finite; expected all to be")
