"""The one table between our parameters and the reference's state-dict keys, read both ways.

Our paths are those of the flax tree; the layers of the stack are the leading axis of one array.
Torch keeps a linear kernel as (out, in); ours are (in..., out...).
"""

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import jax
import numpy as np

from luke_jax.errors import InputError

_FIRST_QUERY = re.compile(r"\.(w2e|e2w|e2e)_query\.")
LAYER = "luke.encoder.layer.{layer}."


@dataclasses.dataclass(frozen=True)
class Key:
  """One of our arrays and the tensors that fill it, in order over its leading axes."""

  path: str
  names: tuple[str, ...]
  kernel_inputs: int = 0  # a linear kernel: how many axes of ours are its inputs

  @property
  def stacked(self) -> bool:
    """Whether the array's first axis is the layers of the encoder."""
    return "{layer}" in self.names[0]


def _linear(path: str, *names: str, inputs: int = 1) -> list[Key]:
  return [
    Key(f"{path}/kernel", tuple(f"{name}.weight" for name in names), inputs),
    Key(f"{path}/bias", tuple(f"{name}.bias" for name in names)),
  ]


def _norm(path: str, name: str) -> list[Key]:
  return [Key(f"{path}/scale", (f"{name}.weight",)), Key(f"{path}/bias", (f"{name}.bias",))]


def _table(path: str, name: str) -> list[Key]:
  return [Key(f"{path}/embedding", (f"{name}.weight",))]


def _rows() -> Iterator[Key]:
  words, entities = "luke.embeddings", "luke.entity_embeddings"
  yield from _table("luke/embeddings/word", f"{words}.word_embeddings")
  yield from _table("luke/embeddings/position", f"{words}.position_embeddings")
  yield from _table("luke/embeddings/type", f"{words}.token_type_embeddings")
  yield from _norm("luke/embeddings/norm", f"{words}.LayerNorm")
  yield from _table("luke/entity_embeddings/entity", f"{entities}.entity_embeddings")
  yield from _linear("luke/entity_embeddings/projection", f"{entities}.entity_embedding_dense")
  yield from _table("luke/entity_embeddings/position", f"{entities}.position_embeddings")
  yield from _table("luke/entity_embeddings/type", f"{entities}.token_type_embeddings")
  yield from _norm("luke/entity_embeddings/norm", f"{entities}.LayerNorm")
  layers = "luke/encoder/layers"
  queries = ("query", "w2e_query", "e2w_query", "e2e_query")
  attention = LAYER + "attention."
  yield from _linear(f"{layers}/attention/query", *(f"{attention}self.{q}" for q in queries))
  yield from _linear(f"{layers}/attention/key", f"{attention}self.key")
  yield from _linear(f"{layers}/attention/value", f"{attention}self.value")
  yield from _linear(f"{layers}/attention/output", f"{attention}output.dense", inputs=2)
  yield from _norm(f"{layers}/attention_norm", f"{attention}output.LayerNorm")
  yield from _linear(f"{layers}/mlp/up", LAYER + "intermediate.dense")
  yield from _linear(f"{layers}/mlp/down", LAYER + "output.dense")
  yield from _norm(f"{layers}/mlp_norm", LAYER + "output.LayerNorm")
  yield from _linear("luke/pooler/dense", "luke.pooler.dense")
  yield from _linear("masked_words/transform", "lm_head.dense")
  yield from _norm("masked_words/norm", "lm_head.layer_norm")
  yield Key("masked_words/bias", ("lm_head.bias",))
  yield from _linear("masked_entities/transform", "entity_predictions.transform.dense")
  yield from _norm("masked_entities/norm", "entity_predictions.transform.LayerNorm")
  yield Key("masked_entities/bias", ("entity_predictions.bias",))
  yield Key("page_entity/decoder/kernel", ("cls_entity_predictions.decoder.weight",), 1)
  yield Key("page_entity/decoder/bias", ("cls_entity_predictions.bias",))
  for head in ("classifier", "qa_outputs", "scorer"):
    yield from _linear(head, head)


KEYS: dict[str, Key] = {key.path: key for key in _rows()}

WORD_DECODER = Key("word_decoder/embedding", ("lm_head.decoder.weight",))
KEYS[WORD_DECODER.path] = WORD_DECODER

# Second names of tensors that are one here. A file may have either name.
ALIASES = {
  "lm_head.decoder.weight": "luke.embeddings.word_embeddings.weight",
  "lm_head.decoder.bias": "lm_head.bias",
  "entity_predictions.decoder.weight": "luke.entity_embeddings.entity_embeddings.weight",
}

# What files of other origin call the same things, tried in this order.
_RENAMES = tuple(
  (re.compile(pattern), name)
  for pattern, name in (
    (r"\.gamma$", ".weight"),
    (r"\.beta$", ".bias"),
    (r"^(roberta|bert)\.", "luke."),
    (r"^(embeddings|entity_embeddings|encoder|pooler)\.", r"luke.\1."),
    (r"^cls\.predictions\.transform\.dense\.", "lm_head.dense."),
    (r"^cls\.predictions\.transform\.LayerNorm\.", "lm_head.layer_norm."),
    (r"^cls\.predictions\.", "lm_head."),
  )
)


def canonical(name: str) -> str:
  """The reference's name of a tensor in a bare LukeModel, an archive, RoBERTa or BERT."""
  for pattern, replacement in _RENAMES:
    name = pattern.sub(replacement, name)
  return name


def flatten(params: dict) -> dict[str, np.ndarray]:
  """Leaves of a parameter tree under paths such as luke/encoder/layers/mlp/up/kernel."""
  leaves = jax.tree.leaves_with_path(params)
  return {jax.tree_util.keystr(path, simple=True, separator="/"): x for path, x in leaves}


def unflatten(leaves: dict[str, np.ndarray]) -> dict:
  """The tree of paths made by `flatten`."""
  tree: dict = {}
  for path, leaf in leaves.items():
    *folders, name = path.split("/")
    node = tree
    for folder in folders:
      node = node.setdefault(folder, {})
    node[name] = leaf
  return tree


def places(key: Key, shape: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
  """Every tensor of a key: its name, and the index of its place in an array of that shape."""
  for layer in range(shape[0]) if key.stacked else (None,):
    lead = () if layer is None else (layer,)
    kinds = shape[len(lead)] if len(key.names) > 1 else 1  # 2 queries a kind, or 1 for all
    for n, name in enumerate(key.names[: kinds * kinds]):
      index = (*lead, *divmod(n, kinds)) if len(key.names) > 1 else lead
      yield name.format(layer=layer), index


def to_torch(params: dict) -> Iterator[tuple[str, np.ndarray]]:
  """Names and tensors of a state dict, one by one."""
  for path, x in flatten(params).items():
    key, array = KEYS[path], np.asarray(x)
    for name, index in places(key, array.shape):
      part = array[index]
      if key.kernel_inputs:
        part = part.reshape(math.prod(part.shape[: key.kernel_inputs]), -1).T
      elif path.endswith("/bias"):
        part = part.reshape(-1)
      # safetensors writes the bytes as they lie, so a transposed view would be saved wrong.
      yield name, np.ascontiguousarray(part)


@dataclasses.dataclass(frozen=True)
class Report:
  """What loading did not find, had no use for, or filled in."""

  missing: tuple[str, ...] = ()
  unexpected: tuple[str, ...] = ()
  copied: tuple[str, ...] = ()  # queries, from the first one
  added: tuple[str, ...] = ()  # markers and [MASK2]

  def __str__(self) -> str:
    named = {
      "initialised, for the files lack them": self.missing,
      "left over": self.unexpected,
      "copied from the first query": self.copied,
      "added": self.added,
    }
    parts = (f"{len(names)} {what} ({_some(names)})" for what, names in named.items() if names)
    return "; ".join(parts) or "every tensor found its place"


def _some(names: Sequence[str]) -> str:
  return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def from_torch(
  read: Callable[[str], np.ndarray], names: Iterable[str], abstract: dict
) -> tuple[dict, Report]:
  """Fills the arrays of `abstract` (a tree of shapes) with what `read` gives for the names.

  Extra queries that are missing become copies of the first one. Arrays whose tensors are missing
  are left out of the tree and reported.
  """
  available, used, leaves, missing, copied = set(names), set(), {}, [], []
  for path, target in flatten(abstract).items():
    key, array = KEYS[path], np.empty(target.shape, target.dtype)
    sources = {}
    for name, index in places(key, array.shape):
      sources[name] = name if name in available else _FIRST_QUERY.sub(".query.", name)
      if sources[name] in available:
        array[index] = _ours(read(sources[name]), array[index].shape, key, name=sources[name])
    lost = [name for name, source in sources.items() if source not in available]
    found = [source for source in sources.values() if source in available]
    if lost and found:
      raise InputError(f"{lost[0]}: missing, but {found[0]} is there; expected every layer")
    missing += lost
    used.update(found)
    if not lost:
      leaves[path] = array
      copied += [name for name, source in sources.items() if source != name]
  tied = {alias for alias, name in ALIASES.items() if name in used}
  unexpected = sorted(name for name in available - used - tied if not _is_buffer(name))
  return unflatten(leaves), Report(tuple(missing), tuple(unexpected), tuple(copied))


def _ours(tensor: np.ndarray, shape: tuple[int, ...], key: Key, *, name: str) -> np.ndarray:
  split = key.kernel_inputs
  expected = shape
  if split:
    expected = (math.prod(shape[split:]), math.prod(shape[:split]))
  elif key.path.endswith("/bias"):
    expected = (math.prod(shape),)
  if tensor.shape != expected:
    raise InputError(f"{name}: shape {tensor.shape}; expected {expected}")
  if not jax.numpy.issubdtype(tensor.dtype, np.floating):  # as quantised weights, without scales
    raise InputError(f"{name}: numbers of type {tensor.dtype}; expected floating point")
  return (tensor.T if split else tensor).reshape(shape)


def _is_buffer(name: str) -> bool:
  """Constants that some versions of the reference saved along with the parameters."""
  return name.endswith((".position_ids", ".token_type_ids"))
