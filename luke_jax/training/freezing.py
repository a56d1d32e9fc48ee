"""Parameters that do not train: whole arrays by their paths, and layers of stacked arrays."""

import difflib
import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from flax.traverse_util import flatten_dict, unflatten_dict

from luke_jax.errors import InputError
from luke_jax.training.task import Params

_LAYERS = re.compile(r"(?P<stack>[^\[\]]+)\[(?P<first>\d*):(?P<end>\d*)\](?P<part>/[^\[\]]+)?")


def is_frozen(path: str, patterns: Sequence[str]) -> bool:
  """Returns whether a pattern names the parameter at the path or a folder that contains it.

  `luke/pooler` and `luke/pooler/` name all below it; * stands for any part of a name. Patterns of
  layers name parts of parameters, see `layer_masks`.
  """
  names = path.split("/")
  parts = (x.strip("/").split("/") for x in patterns if not _LAYERS.fullmatch(x))
  return any(len(p) <= len(names) and all(map(fnmatch.fnmatchcase, names, p)) for p in parts)


def split_frozen(
  params: Params, patterns: Sequence[str], stays: Callable[[str], bool] | None = None
) -> tuple[Params, Params]:
  """Returns the nested dicts of the parameters that train and of those that do not.

  The latter are at paths that a pattern names, or for which `stays` returns true.
  """
  leaves = flatten_dict(params, sep="/")
  for pattern in patterns:
    if _LAYERS.fullmatch(pattern):
      _check_layers(pattern, leaves)
    elif not any(is_frozen(path, [pattern]) for path in leaves):
      raise InputError(
        f"frozen: {pattern!r} names no parameter; expected the start of a path, perhaps"
        f" {_nearest(pattern, leaves)!r}"
      )
  frozen = {
    path: x for path, x in leaves.items() if is_frozen(path, patterns) or (stays and stays(path))
  }
  trained = {path: x for path, x in leaves.items() if path not in frozen}
  if not trained:
    named = ", ".join(map(repr, patterns))
    raise InputError(f"frozen: {named} name every parameter; expected some that train")
  return unflatten_dict(trained, sep="/"), unflatten_dict(frozen, sep="/")


def layer_masks(trained: Params, patterns: Sequence[str]) -> Params | None:
  """Returns, for each trained array, what its update is multiplied by: 0 in layers that are frozen.

  `luke/encoder/layers[0:4]` names the first four layers of the arrays below `luke/encoder/layers`,
  whose first axis is the layers, and `luke/encoder/layers[0:4]/mlp` a part of these. The result is
  None where no pattern names layers.
  """
  matches = [match for pattern in patterns if (match := _LAYERS.fullmatch(pattern))]
  if not matches:
    return None
  leaves: Any = flatten_dict(trained, sep="/")
  masks = {}
  for path, x in leaves.items():
    mask = np.ones(len(x) if x.ndim else (), np.float32)
    for match in matches:
      if is_frozen(path, [_arrays(match)]):
        mask[_slice(match)] = 0
    masks[path] = mask.reshape(-1, *[1] * (x.ndim - 1)) if x.ndim else mask
  return unflatten_dict(masks, sep="/")


def _arrays(match: re.Match[str]) -> str:
  """Returns the pattern of the arrays that a pattern of layers names, for all layers."""
  return match["stack"] + (match["part"] or "")


def _slice(match: re.Match[str]) -> slice:
  return slice(*(int(match[name]) if match[name] else None for name in ("first", "end")))


def _check_layers(pattern: str, leaves: Mapping[str, Any]) -> None:
  match = _LAYERS.fullmatch(pattern)
  assert match
  stacked = [x for path, x in leaves.items() if is_frozen(path, [_arrays(match)])]
  count = len(stacked[0]) if stacked and match["stack"].endswith("layers") else 0
  if not range(count)[_slice(match)]:
    raise InputError(
      f"frozen: {pattern!r} names no layer; expected the stack of an encoder and numbers of its"
      f" layers, such as 'luke/encoder/layers[0:4]'{f', of which there are {count}' * bool(count)}"
    )


def merge(trained: Params, frozen: Params) -> Params:
  """Returns the two parts from `split_frozen` as one nested dict again."""
  return unflatten_dict(flatten_dict(trained, sep="/") | flatten_dict(frozen, sep="/"), sep="/")


def _nearest(pattern: str, paths: Iterable[str]) -> str:
  """Returns the path, or folder of paths, that is spelled most like the pattern."""
  starts = set()
  for path in paths:
    names = path.split("/")
    starts.update("/".join(names[: n + 1]) for n in range(len(names)))
  return difflib.get_close_matches(pattern.strip("/"), sorted(starts), n=1, cutoff=0)[0]
