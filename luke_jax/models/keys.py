"""Tables between our parameters and a reference's state-dict keys, read both ways.

Our paths are those of the flax tree; the layers of the stack are the leading axis of one array.
Torch keeps a linear kernel as (out, in); ours are (in..., out...).
"""

import dataclasses
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from luke_jax.errors import InputError
from luke_jax.models.config_files import check_finite
from luke_jax.models.names import OtherNames


def _attribute_layers() -> Iterator[tuple[str, str]]:
  ours, theirs = "attribute_layers/layers", "ATrans_decoder.{layer}"
  for name in ("query", "key", "value"):
    stream = f"{theirs}.attention.atts.{{stream}}.{name}"
    yield f"{ours}/attention/{name}/weights", f"{stream}.bilinear_weights"  # as they lie
    yield f"{ours}/attention/{name}/bias", f"{stream}.bias"
  yield f"{ours}/attention/value/kernel", f"{theirs}.attention.atts.{{stream}}.value.weight"
  for path, name, weights in (
    ("output", "attention.output.dense.{stream}", "kernel"),
    ("combination", "attention.output.project", "kernel"),
    ("attention_norm", "attention.output.LayerNorm", "scale"),
    ("mlp/up", "intermediate.dense", "kernel"),
    ("mlp/down", "output.dense", "kernel"),
    ("mlp_norm", "output.LayerNorm", "scale"),
  ):
    yield f"{ours}/{path}/{weights}", f"{theirs}.{name}.weight"
    yield f"{ours}/{path}/bias", f"{theirs}.{name}.bias"


# Of heads that no class of transformers has: a chain's are those of pytorch-crf, those of layers
# with attributes are the authors' of MA-BERT.
_OF_HEADS = {
  "crf/transitions": "crf.transitions",
  "crf/starts": "crf.start_transitions",
  "crf/ends": "crf.end_transitions",
  "text": "text",
  "fusion/kernel": "fusion.linear.weight",
  "fusion/bias": "fusion.linear.bias",
  **dict(_attribute_layers()),
}
_STARTS = ("crf.", "ATrans_decoder.", "fusion.", "layer.", "text")  # of these names


# Where every system keeps decoders that are not tied to the embeddings.
WORD_DECODER = "word_decoder/embedding"
ENTITY_DECODER = "entity_decoder/embedding"
# A stack of unequal layers is several stacks of equal ones, each named by its first layer.
# Constants that some versions of the reference saved with the parameters.
_BUFFERS = (".position_ids", ".token_type_ids")
FIRST_RUN = "from_0"
_RUN = re.compile(r"/from_(\d+)/")
_ALIGNMENT = 64  # bytes


@dataclasses.dataclass(frozen=True)
class Key:
  """One of our arrays and the tensors that fill it, in order over its leading axes."""

  path: str
  names: tuple[str, ...]
  kernel_inputs: int = 0  # a linear kernel: how many axes of ours are its inputs
  by_kind: bool = False  # queries: two axes before those are the kinds of the two tokens
  first: int = 0  # number of the first layer of a stack

  @property
  def stacked(self) -> bool:
    """Returns true if the array's first axis is the layers of the encoder."""
    return "{layer}" in self.names[0]


def linear(path: str, name: str, *, inputs: int = 1) -> list[Key]:
  """Returns the keys of a linear layer."""
  return [
    Key(f"{path}/kernel", (f"{name}.weight",), inputs),
    Key(f"{path}/bias", (f"{name}.bias",)),
  ]


def _queries(path: str, names: Sequence[str]) -> list[Key]:
  return [
    Key(f"{path}/kernel", tuple(f"{name}.weight" for name in names), 1, by_kind=True),
    Key(f"{path}/bias", tuple(f"{name}.bias" for name in names), by_kind=True),
  ]


def norm(path: str, name: str) -> list[Key]:
  """Returns the keys of a layer norm."""
  return [Key(f"{path}/scale", (f"{name}.weight",)), Key(f"{path}/bias", (f"{name}.bias",))]


def table(path: str, name: str) -> list[Key]:
  """Returns the key of an embedding table."""
  return [Key(f"{path}/embedding", (f"{name}.weight",))]


def word_embeddings(path: str, name: str) -> Iterator[Key]:
  """Yields the keys of embeddings of BERT's shape."""
  yield from table(f"{path}/word", f"{name}.word_embeddings")
  yield from table(f"{path}/position", f"{name}.position_embeddings")
  yield from table(f"{path}/type", f"{name}.token_type_embeddings")
  yield from norm(f"{path}/norm", f"{name}.LayerNorm")


class LayerNames(NamedTuple):
  """Names of the parts of a transformer layer on disk; the defaults are BERT's."""

  queries: tuple[str, ...] = ("attention.self.query",)  # four in entity-aware attention
  key: str = "attention.self.key"
  value: str = "attention.self.value"
  output: str = "attention.output.dense"
  attention_norm: str = "attention.output.LayerNorm"
  up: str = "intermediate.dense"
  down: str = "output.dense"
  mlp_norm: str = "output.LayerNorm"


OF_BERT = LayerNames()


def layers(path: str, name: str, names: LayerNames = OF_BERT) -> Iterator[Key]:
  """Yields the keys of a stack of transformer layers of BERT's shape."""
  layer = f"{name}.{{layer}}."
  yield from _queries(f"{path}/attention/query", [layer + query for query in names.queries])
  yield from linear(f"{path}/attention/key", layer + names.key)
  yield from linear(f"{path}/attention/value", layer + names.value)
  yield from linear(f"{path}/attention/output", layer + names.output, inputs=2)
  yield from norm(f"{path}/attention_norm", layer + names.attention_norm)
  yield from linear(f"{path}/mlp/up", layer + names.up)
  yield from linear(f"{path}/mlp/down", layer + names.down)
  yield from norm(f"{path}/mlp_norm", layer + names.mlp_norm)


@dataclasses.dataclass(frozen=True)
class Keys:
  """Table between a system's parameters and its reference's state-dict keys."""

  rows: Mapping[str, Key]  # by our path
  # Names in decoders of tensors that are tied to others. A file may have either name, or both;
  # where their numbers differ, the reference computes with the decoder's.
  aliases: Mapping[str, str] = dataclasses.field(default_factory=dict)
  encoder: str = ""  # the name that the reference's encoder has in its networks
  tied_by_reference: tuple[str, ...] = ()  # second names that need not be written
  # Names in files of other origin, as patterns and replacements, applied in this order.
  renames: tuple[tuple[str, str], ...] = ()
  other_names: tuple[OtherNames, ...] = ()  # of other programs' files
  # The name of a tensor that fills an array where its own is missing, as a pattern and replacement.
  copies: tuple[str, str] | None = None
  # Starts of the names of parts that a system has no use for in the models that it starts from.
  unused: tuple[str, ...] = ()
  # Starts of the names of parts that are read as another system.
  elsewhere: tuple[str, ...] = ()
  # Starts of the names of heads, which are left out where another head is wanted.
  heads: tuple[str, ...] = (
    *("classifier.", "qa_outputs.", "scorer.", "name_", "candidate_", "none_classifier."),
    *("prior_scale.", "fact_", *_STARTS),
  )

  @classmethod
  def of(cls, rows: Iterable[Key], **fields: Any) -> "Keys":
    """Returns the table of these rows."""
    return cls({key.path: key for key in rows}, **fields)

  def key(self, path: str) -> Key:
    """Returns the key of one of our paths; that of a user's own head has the same name."""
    run = _RUN.search(path)
    row = self.rows.get(_RUN.sub(f"/{FIRST_RUN}/", path)) or _HEADS.get(path)
    if row is None:
      *parts, leaf = path.split("/")
      name = ".".join([*parts, "bias" if leaf == "bias" else "weight"])
      return Key(path, (name,), kernel_inputs=int(leaf == "kernel"))
    return dataclasses.replace(row, path=path, first=int(run[1])) if run else row

  def canonical(self, name: str) -> str:
    """Returns the reference's own name of a tensor."""
    for pattern, replacement in self.renames:
      name = re.sub(pattern, replacement, name)
    return name

  def naming_of(self, names: Iterable[str]) -> OtherNames | None:
    """Returns the kind of names that a file has; None if they are the reference's."""
    return next((naming for naming in self.other_names if naming.fits(names)), None)

  def copied_from(self, name: str) -> str:
    """Returns the name of the tensor that stands in for a missing one, or the name itself."""
    return name if self.copies is None else re.sub(*self.copies, name)


def _head_key(path: str, name: str) -> Key:
  inputs = 2 if "combination" in path else 1  # those of the combination are streams and their width
  return Key(path, (name,), inputs if path.endswith("/kernel") else 0)


_HEADS = {path: _head_key(path, name) for path, name in _OF_HEADS.items()}
_HEADS |= {key.path: key for key in layers("plain_layers/layers", "layer")}


def flatten(params: dict) -> dict[str, np.ndarray]:
  """Returns the leaves of a parameter tree under paths such as luke/pooler/dense/kernel."""
  leaves = jax.tree.leaves_with_path(params)
  return {jax.tree_util.keystr(path, simple=True, separator="/"): x for path, x in leaves}


def unflatten(leaves: dict[str, np.ndarray]) -> dict:
  """Returns the tree of paths made by `flatten`."""
  tree: dict = {}
  for path, leaf in leaves.items():
    *folders, name = path.split("/")
    node = tree
    for folder in folders:
      node = node.setdefault(folder, {})
    node[name] = leaf
  return tree


def places(key: Key, shape: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
  """Yields the name of every tensor of a key, and its index in an array of that shape."""
  counted = [axis for axis in ("layer", "stream") if f"{{{axis}}}" in key.names[0]]
  for lead in np.ndindex(shape[: len(counted)]):
    numbers = dict(zip(counted, lead, strict=True))
    if key.stacked:
      numbers["layer"] += key.first
    kinds = shape[len(lead)] if key.by_kind else 1  # 2 queries a kind, or 1 for all
    for n, name in enumerate(key.names[: kinds * kinds]):
      index = (*lead, *divmod(n, kinds)) if key.by_kind else lead
      yield name.format(**numbers), index


def to_torch(params: dict, keys: Keys) -> Iterator[tuple[str, np.ndarray]]:
  """Yields the names and tensors of a state dict."""
  for path, x in flatten(params).items():
    key, array = keys.key(path), np.asarray(x)
    for name, index in places(key, array.shape):
      part = array[index]
      if key.kernel_inputs:
        part = part.reshape(math.prod(part.shape[: key.kernel_inputs]), -1).T
      elif path.endswith("/bias"):
        part = part.reshape(-1)
      # safetensors writes the bytes as they lie, so a transposed view would be saved wrong.
      yield name, np.ascontiguousarray(part)


@dataclasses.dataclass(frozen=True)
class LoadReport:
  """Tensors that loading missed, had no use for, or filled in."""

  missing: tuple[str, ...] = ()
  unexpected: tuple[str, ...] = ()
  copied: tuple[str, ...] = ()  # queries, from the first one
  added: tuple[str, ...] = ()  # markers and [MASK2]
  apart: tuple[str, ...] = ()  # of decoders, read instead of what they are usually tied to

  def __str__(self) -> str:
    named = {
      "initialised, for the files lack them": self.missing,
      "left over": self.unexpected,
      "copied from the first query": self.copied,
      "added": self.added,
    }
    parts = [f"{len(names)} {what} ({_some(names)})" for what, names in named.items() if names]
    parts = parts or ["every tensor found its place"]
    if self.apart:
      parts.append(f"{len(self.apart)} apart from the embeddings or bias ({_some(self.apart)})")
    return "; ".join(parts)


def _some(names: Sequence[str]) -> str:
  return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def from_torch(
  read: Callable[[str], np.ndarray],
  names: Iterable[str],
  abstract: dict,
  keys: Keys,
  *,
  apart: Mapping[str, str] | None = None,
  shape_of: Callable[[str], tuple[int, ...] | None] = lambda name: None,
) -> tuple[dict, LoadReport]:
  """Fills the arrays of `abstract` (a tree of shapes) with the tensors that `read` returns.

  Extra queries that are missing become copies of the first one. Arrays whose tensors are missing
  are left out of the tree and reported. `apart` are names whose numbers are those of a decoder, not
  what they are usually tied to, with that decoder's names. `shape_of` returns the shape of a tensor
  that is known before it is read: one that is not as expected may be larger than any memory.
  """
  available, used, leaves, missing, copied = set(names), set(), {}, [], []
  for path, target in flatten(abstract).items():
    key = keys.key(path)
    wanted = [name for name, _ in places(key, target.shape)]
    sources = {name: name if name in available else keys.copied_from(name) for name in wanted}
    lost = [name for name, source in sources.items() if source not in available]
    present = [source for source in sources.values() if source in available]
    if lost and present:
      raise InputError(f"{lost[0]}: missing, but {present[0]} is there; expected every layer")
    missing += lost
    used.update(present)
    if not lost:
      leaves[path] = _filled(target, key, sources, (read, shape_of))
      copied += [name for name, source in sources.items() if source != name]
  tied = {alias for alias, name in keys.aliases.items() if name in used}.difference(apart or ())
  unexpected = sorted(name for name in available - used - tied if not name.endswith(_BUFFERS))
  apart_names = tuple(sorted(theirs for name, theirs in (apart or {}).items() if name in used))
  return unflatten(leaves), LoadReport(
    tuple(missing), tuple(unexpected), tuple(copied), apart=apart_names
  )


def _filled(
  target: Any,
  key: Key,
  sources: Mapping[str, str],
  files: tuple[Callable[[str], np.ndarray], Callable[[str], tuple[int, ...] | None]],
) -> np.ndarray:
  """Returns an array with the numbers of its tensors, `sources` by the names that it asks for."""
  read, shape_of = files

  def part_of(source: str, shape: tuple[int, ...]) -> np.ndarray:
    said = shape_of(source)
    if said is not None:
      _check_shape(said, shape, key, source)
    tensor = read(source)
    _check_shape(tensor.shape, shape, key, source)
    if not jax.numpy.issubdtype(tensor.dtype, np.floating):  # as quantised weights, without scales
      raise InputError(f"{source}: numbers of type {tensor.dtype}; expected floating point")
    return (tensor.T if key.kernel_inputs else tensor).reshape(shape)

  parts = (
    (sources[name], index, part_of(sources[name], target.shape[len(index) :]))
    for name, index in places(key, target.shape)
  )
  first = next(parts)  # before there is an array: a config may have sizes that no machine has
  array = aligned(target.shape, target.dtype)
  for source, index, part in itertools.chain([first], parts):
    array[index] = part
    check_finite(source, array[index])
  return array


def aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
  """Returns an array of any content at a place in memory that JAX reads on CPUs without a copy."""
  size = math.prod(shape) * np.dtype(dtype).itemsize
  room = np.empty(size + _ALIGNMENT, np.uint8)
  first = -room.ctypes.data % _ALIGNMENT
  return room[first : first + size].view(dtype).reshape(shape)


def _check_shape(actual: tuple[int, ...], shape: tuple[int, ...], key: Key, name: str) -> None:
  """Raises InputError for a tensor that does not fill an array of this shape."""
  split, expected = key.kernel_inputs, shape
  if split:
    expected = (math.prod(shape[split:]), math.prod(shape[:split]))
  elif key.path.endswith("/bias"):
    expected = (math.prod(shape),)
  if actual != expected:
    raise InputError(f"{name}: shape {actual}; expected {expected}")
