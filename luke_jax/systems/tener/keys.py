"""Parameters of a TENER and the names of their tensors, here and in its authors' program.

The names here are this package's own. The authors' program is written with fastNLP. It joins the
projections of an attention and has two special words, where there are five here. What it computes
from its vocabularies is not read.
"""

import dataclasses
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from luke_jax.errors import InputError
from luke_jax.heads.labels import ChainHead, TokenHead
from luke_jax.models.keys import Key, Keys, layers, linear, table
from luke_jax.models.names import Naming, Readers
from luke_jax.systems.tener.config import TenerConfig
from luke_jax.systems.tener.layers import KERNEL
from luke_jax.text.whole_words import PLAIN, SPECIAL, WORDS_FILE

# Names here, and there.
_PARTS = """
tener.word_embeddings.weight embed.embeds.0.embedding.weight
tener.character_embeddings.weight embed.embeds.1.char_embedding.weight
tener.characters.convolution.weight embed.embeds.1.convs.0.weight
tener.characters.convolution.bias embed.embeds.1.convs.0.bias
tener.characters.output.weight embed.embeds.1.fc.weight
tener.characters.output.bias embed.embeds.1.fc.bias
tener.bigram_embeddings.weight bi_embed.embedding.weight
tener.input.weight in_fc.weight
tener.input.bias in_fc.bias
classifier.weight out_fc.weight
classifier.bias out_fc.bias
crf.transitions crf.trans_m
crf.start_transitions crf.start_scores
crf.end_transitions crf.end_scores
"""
_STACKS = (
  ("tener.encoder.layer.{layer}.", "transformer.layers.{layer}."),
  ("tener.characters.layer.", "embed.embeds.1.transformer.layers.0."),
)
_LAYER_PARTS = """
attention.self. self_attn.
attention.self.for_keys self_attn.r_r_bias
attention.self.for_distances self_attn.r_w_bias
attention.output.dense.weight self_attn.fc.weight
attention.output.dense.bias self_attn.fc.bias
attention.output.LayerNorm.weight norm1.weight
attention.output.LayerNorm.bias norm1.bias
intermediate.dense.weight ffn.0.weight
intermediate.dense.bias ffn.0.bias
output.dense.weight ffn.3.weight
output.dense.bias ffn.3.bias
output.LayerNorm.weight norm2.weight
output.LayerNorm.bias norm2.bias
"""
_WORDS, _BIGRAMS = "tener.word_embeddings.weight", "tener.bigram_embeddings.weight"
_CONVOLUTION = "tener.characters.convolution.weight"
_ALONE, _STACKED = "embed.", "embed.embeds.0."  # words' embeddings without characters, and with
_PROJECTIONS = {"q": "query", "k": "key", "v": "value"}
_JOINED = re.compile(r"(.*self_attn\.)(qk?v)_linear\.(weight|bias)")
_QUERY = re.compile(r"(.*attention\.self\.)query\.(weight|bias)")
_ROWS = "words_to_words"  # the row of each word, where several may share one
_COMPUTED = re.compile(
  rf".*\.(pos_embed\.(weights|_float_tensor)|{_ROWS}|words_to_chars_embedding|word_lengths)"
  r"|crf\._constrain"
)


def _pairs() -> Iterator[tuple[str, str]]:
  pairs = [("", "")]
  for starts, parts in ((pairs, _PARTS), (_STACKS, _LAYER_PARTS)):
    for line in parts.strip().split("\n"):
      ours, theirs = line.split()
      yield from ((start + ours, their_start + theirs) for start, their_start in starts)


_NAMES = Naming("fastnlp", tuple(_pairs()), encoder="")


class FastNlp:
  """Names of the authors' program, read both ways; linear kernels are (out, in) in both."""

  name = "fastnlp"
  vocabulary = WORDS_FILE

  def fits(self, names: Iterable[str]) -> bool:
    """Returns true if a file's names are of this kind."""
    return any(name.startswith("transformer.layers.0.self_attn.") for name in names)

  def read(self, theirs: Readers) -> Readers:
    """Returns a reader for each tensor of a file, under the names here."""
    if not any(name.startswith("embed.embeds.") for name in theirs):
      theirs = {re.sub(rf"^{re.escape(_ALONE)}", _STACKED, x): read for x, read in theirs.items()}
    ours: dict[str, Callable[[], np.ndarray]] = {}
    for name, read in theirs.items():
      if match := _JOINED.fullmatch(name):
        ours |= _parted(match, read)
      elif not _COMPUTED.fullmatch(name):
        ours[_NAMES.reference(name)] = read
    for embeddings, start, special in ((_WORDS, _STACKED, SPECIAL), (_BIGRAMS, "bi_embed.", PLAIN)):
      if embeddings in ours:
        rows, added = theirs.get(f"{start}{_ROWS}"), len(special) - len(PLAIN)
        ours[embeddings] = functools.partial(_table, embeddings, ours[embeddings], rows, added)
    if _CONVOLUTION in ours:
      ours[_CONVOLUTION] = functools.partial(_side_by_side, ours[_CONVOLUTION])
    return _with_biases(ours)

  def write(
    self, tensors: Iterable[tuple[str, np.ndarray]], config: TenerConfig
  ) -> Iterator[tuple[str, np.ndarray]]:
    """Yields the tensors of a model as the authors' program has them."""
    check_writable(config)
    remaining = dict(tensors)
    for match in filter(None, map(_QUERY.fullmatch, tuple(remaining))):
      start, end = match.groups()
      parts = {x: remaining.pop(f"{start}{name}.{end}", None) for x, name in _PROJECTIONS.items()}
      there = {x: part for x, part in parts.items() if part is not None}
      if end == "weight" or any(part.any() for part in there.values()):  # see `_with_biases`
        name = f"{_NAMES.theirs(start)}{''.join(there)}_linear.{end}"
        yield name, np.concatenate(list(there.values()))
    for name, tensor in remaining.items():
      if name == _WORDS:
        tensor = np.delete(tensor, slice(len(PLAIN), len(SPECIAL)), axis=0)
      elif name == _CONVOLUTION:
        tensor = tensor.reshape(len(tensor), KERNEL, -1).transpose(0, 2, 1)
      start = _STACKED if config.character_vocab_size else _ALONE
      yield _NAMES.theirs(name).replace(_STACKED, start), np.ascontiguousarray(tensor)

  def described(self, raw: dict[str, object], tensors: Readers) -> dict[str, Any]:
    """Returns the entries of a config.json; one without sizes leaves them to the tensors."""
    if "vocab_size" in raw:
      check_distances(raw)
      return raw
    return sizes(raw, tensors) | raw


FASTNLP = FastNlp()


def _parted(match: re.Match[str], read: Callable[[], np.ndarray]) -> Readers:
  """Returns readers for the parts of joined projections, by their names here."""
  start, letters, end = match.groups()

  def part(number: int) -> np.ndarray:
    tensor = read()
    if not tensor.ndim or len(tensor) % len(letters):
      expected = f"as many rows for each of {', '.join(letters)}"
      raise InputError(f"{match[0]}: shape {tensor.shape}; expected {expected}")
    return np.split(tensor, len(letters))[number]

  ours = _NAMES.reference(start)
  return {
    f"{ours}{_PROJECTIONS[letter]}.{end}": functools.partial(part, number)
    for number, letter in enumerate(letters)
  }


def _table(
  name: str, read: Callable[[], np.ndarray], rows: Callable[[], np.ndarray] | None, added: int
) -> np.ndarray:
  """Returns a table with a row for each entry of the vocabulary, and so many special ones more."""
  table = read()
  if rows is not None:
    numbers = rows()
    if numbers.ndim != 1 or numbers.min(initial=0) < 0 or numbers.max(initial=0) >= len(table):
      raise InputError(f"{_ROWS}: not rows of {name}; expected numbers below {len(table)}")
    table = table[numbers]
  special = np.zeros((added, *table.shape[1:]), table.dtype)
  return np.concatenate([table[: len(PLAIN)], special, table[len(PLAIN) :]])


def _side_by_side(read: Callable[[], np.ndarray]) -> np.ndarray:
  """Returns the kernel of a convolution (out, in, 3) as one of neighbours side by side."""
  tensor = read()
  if tensor.shape[2:] != (KERNEL,):
    raise InputError(f"{_NAMES.theirs(_CONVOLUTION)}: shape {tensor.shape}; expected a width of 3")
  return tensor.transpose(0, 2, 1).reshape(len(tensor), -1)


def _with_biases(ours: Readers) -> Readers:
  """Returns the tensors with biases of zero where the plain transformer, since 2020, has none."""
  absent = {}
  for name, read in ours.items():
    match = _QUERY.fullmatch(name)
    plain = match and f"{match[1].removesuffix('self.')}output.dense.weight" in ours
    if plain and name.endswith("weight"):
      biases = (f"{match[1]}{part}.bias" for part in _PROJECTIONS.values())
      absent |= {bias: lambda read=read: np.zeros_like(read()[:, 0]) for bias in biases}
  return absent | dict(ours)


_DISTANCES = {"rel_sign": -1, "freq": "tener"}  # in the code of both years
_DEFAULTS = dataclasses.asdict(TenerConfig())


def check_distances(fields: Mapping[str, object]) -> None:
  """Raises InputError for a form of attention by distance that the authors' code has not."""
  fields = {**_DEFAULTS, **fields}
  read = [fields["encoder"], fields["character_vocab_size"] and fields["character_encoder"]]
  if "adatrans" not in read:
    return
  expected = {**_DISTANCES, "e_term": fields["use_k_proj"]}
  for name, value in expected.items():
    if fields[name] != value:
      raise InputError(f"{name}: {fields[name]!r}; expected {value!r}, as in the authors' code")


def check_writable(config: TenerConfig) -> None:
  """Raises InputError for a model that the authors' code cannot compute."""
  check_distances(dataclasses.asdict(config))
  if config.vector_size:
    raise InputError(f"vector_size: {config.vector_size}; expected 0 for the authors' names")
  if config.character_vocab_size and config.character_encoder == "transformer":
    raise InputError("character_encoder: 'transformer'; expected one that the authors' code has")


def sizes(raw: Mapping[str, Any], tensors: Readers) -> dict[str, Any]:
  """Returns all entries of a config.json: the sizes of tensors, by their names here, and defaults.

  The config.json has to say the labels and, of the plain transformer, the number of heads.
  """
  layer = "tener.encoder.layer.{}.output.dense.weight"
  attention = "tener.encoder.layer.0.attention.self."
  labels, width = _shape(tensors, "classifier.weight")
  head = ChainHead if "crf.transitions" in tensors else TokenHead
  if len(raw.get("id2label") or ()) != labels:
    raise InputError(f"id2label: expected {labels} tags, by the numbers that they have in out_fc")
  fields: dict[str, Any] = {
    **_DEFAULTS,
    **_DISTANCES,
    "architectures": [head.class_name(TenerConfig.prefix)],
    "hidden_size": width,
    "intermediate_size": _shape(tensors, layer.format(0))[1],
    "num_hidden_layers": sum(layer.format(i) in tensors for i in range(len(tensors))),
    **_tables(tensors),
  }
  if f"{attention}for_keys" in tensors:
    fields["num_attention_heads"] = _shape(tensors, f"{attention}for_keys")[0]
    # The code of 2020 has both or, before, neither.
    fields["use_k_proj"] = fields["e_term"] = f"{attention}key.weight" in tensors
  else:
    fields["encoder"] = "transformer"
    if "num_attention_heads" not in raw:
      raise InputError("num_attention_heads: missing; expected it for a plain transformer")
  return fields


def _tables(tensors: Readers) -> dict[str, Any]:
  """Returns the sizes of vocabularies and their embeddings, and the encoder of characters."""
  fields: dict[str, Any] = {}
  names = {"": "word", "character_": "character", "bigram_": "bigram"}
  for start, name in names.items():
    if not start or f"tener.{name}_embeddings.weight" in tensors:
      rows, width = _shape(tensors, f"tener.{name}_embeddings.weight")
      fields |= {f"{start}vocab_size": rows, f"{name}_size": width}
  if "character_size" in fields:
    heads = "tener.characters.layer.attention.self.for_keys"
    if heads in tensors:
      fields["num_character_heads"] = _shape(tensors, heads)[0]
    elif "tener.characters.convolution.weight" in tensors:
      fields["character_encoder"] = "cnn"
    else:
      raise InputError("embed.embeds.1: of another kind; expected one of 'adatrans', 'cnn'")
  widths = [fields[f"{name}_size"] for name in names.values() if f"{name}_size" in fields]
  inputs = _shape(tensors, "tener.input.weight")[1]
  if inputs != sum(widths):
    widths = " + ".join(map(str, widths))
    raise InputError(f"in_fc: {inputs} inputs; expected {widths}, of words, characters and bigrams")
  return fields


def _shape(tensors: Readers, name: str) -> tuple[int, int]:
  if name not in tensors:
    raise InputError(f"{name}: missing; expected the tensors of a TENER")
  shape = tensors[name]().shape
  if len(shape) != 2:
    raise InputError(f"{name}: shape {shape}; expected two sizes")
  return shape


def _layer(path: str, name: str) -> Iterator[Key]:
  """Yields the keys of a layer under a name of its own, with either form of attention."""
  for key in layers(path, "LAYERS"):
    names = tuple(pattern.replace("LAYERS.{layer}", name) for pattern in key.names)
    yield Key(key.path, names, key.kernel_inputs, key.by_kind)
  attention = f"{name}.attention.self"
  yield Key(f"{path}/attention/queries/kernel", (f"{attention}.query.weight",), 1)
  for part in ("for_keys", "for_distances"):
    yield Key(f"{path}/attention/{part}", (f"{attention}.{part}",))


def _rows() -> Iterator[Key]:
  yield from table("tener/word", "tener.word_embeddings")
  yield from table("tener/bigram", "tener.bigram_embeddings")
  yield from table("tener/characters/character", "tener.character_embeddings")
  yield from linear("tener/characters/convolution/kernel_of_3", "tener.characters.convolution")
  yield from linear("tener/characters/output", "tener.characters.output")
  for name in ("shares", "factor"):
    yield Key(f"tener/mixture/{name}", (f"tener.mixture.{name}",))
  yield from linear("tener/input", "tener.input")
  yield from linear("classifier", "classifier")
  yield from _layer("tener/encoder/layers", "tener.encoder.layer.{layer}")
  yield from _layer("tener/characters/layer", "tener.characters.layer")


KEYS = Keys.of(_rows(), other_names=(FASTNLP,))
"""The table of all forms of a TENER."""
