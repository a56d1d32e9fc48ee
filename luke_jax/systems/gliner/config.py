"""Sizes and files of GLiNER's models, of one encoder or of two (Zaratiana et al., 2023)."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import flax.linen as nn

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.models import table
from luke_jax.models.config_files import Fixed, check_fields, check_fixed
from luke_jax.models.head import Head
from luke_jax.models.keys import Key, Keys, linear
from luke_jax.models.system import NONE, Described, Layout, System
from luke_jax.nn.layers import Dtype, Numerics
from luke_jax.systems.deberta import SIZES as SMALL
from luke_jax.systems.gliner.network import WAYS, GlinerEncoder, GlinerHead
from luke_jax.text.rows import Room
from luke_jax.text.tokenizer_files import has_tokenizer

MODEL, LABELS = "gliner_config.json", "labels_tokenizer"
TEXT, OF_LABELS = "token_rep_layer.bert_layer.model", "token_rep_layer.labels_encoder.model"
# Systems that the encoders may be of.
INNER = ("bert", "roberta", "xlm-roberta", "distilbert", "electra", "deberta-v2", "mpnet", "albert")
INNER += ("modernbert",)
ADDED = 3  # words of its own that GLiNER adds to tokenizers: [FLERT], a marker and a separator
OTHERS = "; expected a GLiNER of names alone, such as knowledgator/gliner-bi-base-v2.0"


@dataclasses.dataclass(frozen=True)
class GlinerConfig(System):
  """Sizes of a GLiNER; the defaults are those that its package has."""

  encoder: System = SMALL["deberta-v3-small"]  # of texts
  labels_encoder: System | None = None  # None: labels are read before the text
  hidden_size: int = 512  # width of spans and labels
  max_width: int = 12  # words of a span at most
  max_len: int = 384  # words of a text that its training read at most
  lstm_layers: int = 1  # that read the words of a uni-encoder
  token_level: bool = False  # labels are judged for each word, not for each span
  embed_ent_token: bool = True  # a label's state is that of its marker, not of its first piece
  ent_token: str = "<<ENT>>"  # marker before each label
  sep_token: str = "<<SEP>>"  # between labels and text

  name: ClassVar[str] = "gliner"
  title: ClassVar[str] = "GLiNER"
  paper: ClassVar[str] = "[Zaratiana et al., 2023](https://arxiv.org/abs/2311.08526)"
  module: ClassVar[type[nn.Module]] = GlinerEncoder
  model_types: ClassVar[tuple[str, ...]] = (
    *("gliner_bi_encoder_span", "gliner_bi_encoder_token"),
    *("gliner_uni_encoder_span", "gliner_uni_encoder_token"),
  )
  prefix: ClassVar[str] = "Gliner"
  unnamed: ClassVar[str] = "ForLabelMatching"
  heads: ClassVar[Mapping[str, type[Head]]] = {"match": GlinerHead}
  released_config: ClassVar[tuple[str, str]] = (MODEL, "max_width")
  released_always: ClassVar[bool] = True
  tokenizers_elsewhere: ClassVar[Mapping[str, str]] = {"": "model_name", LABELS: "labels_encoder"}
  fixed: ClassVar[Fixed] = {
    **{"fuse_layers": False, "subtoken_pooling": "first", "words_splitter_type": "whitespace"},
    **{"post_fusion_schema": "", "precomputed_prompts_mode": False, "span_encoder_config": None},
    **{"represent_spans": False},
  }
  layout: ClassVar[Layout] = Layout(words=("word/embedding",))
  tensors: ClassVar[str] = TEXT  # of the encoder, on disk

  def __post_init__(self) -> None:
    check_fields(self, ("lstm_layers",))
    if self.hidden_size % 2:
      raise InputError(f"hidden_size: {self.hidden_size}; expected an even number")

  @property
  def vocab_size(self) -> int:  # pyrefly: ignore[bad-override]
    """Returns the number of words, of which texts for two encoders never have the added ones."""
    return self.encoder.vocab_size + (0 if self.labels_encoder is None else ADDED)

  @property
  def num_hidden_layers(self) -> int:  # pyrefly: ignore[bad-class-definition,bad-override]
    """Returns the layers of the encoder."""
    return self.encoder.num_hidden_layers

  @property
  def num_attention_heads(self) -> int:  # pyrefly: ignore[bad-class-definition,bad-override]
    """Returns the attention heads of the encoder."""
    return self.encoder.num_attention_heads

  @property
  def pad_token_id(self) -> int:  # pyrefly: ignore[bad-class-definition,bad-override]
    """Returns the id of padding."""
    return self.encoder.pad_token_id

  @property
  def room_for_words(self) -> int:
    """Returns the most word pieces of a row: four for each word that a text may have."""
    return min(self.encoder.room_for_words, 4 * self.max_len)

  @property
  def window(self) -> int:
    """Returns the word pieces that are read at once, enough for as many words as in training."""
    return 2 * self.max_len

  @property
  def span_words(self) -> int:
    """Returns the words of a span at most, which are any number where each word is judged."""
    return 2 * self.max_width if self.token_level else self.max_width

  @property
  def numerics(self) -> Numerics:
    """Returns the numbers that its own layers share."""
    own = self.encoder.numerics
    return dataclasses.replace(own, activation="relu", dropout=0.0, classifier_dropout=None)

  @property
  def labels_read_as(self) -> type[System] | None:
    """Returns the system that its own files are read as to read labels."""
    return None if self.labels_encoder is None else GlinerLabelsConfig

  @property
  def for_fine_tuning(self) -> Self:
    """Raises InputError: it is trained elsewhere."""
    expected = "expected the package gliner for that, or another model, such as english"
    raise InputError(f"a GLiNER: read, and not trained here; {expected}")

  def beside(self, words: int) -> Mapping[str, Room]:
    """Returns the room for the marks of words' first pieces."""
    return {"word_starts": Room((words,))}

  @classmethod
  def takes(cls, kind: str) -> bool:
    """Returns true for the kind of its only head."""
    return kind == "match"

  def for_prediction(self, params: dict, dtype: Dtype) -> dict:  # pyrefly: ignore[bad-override]
    """Returns the parameters with the encoder's in a form that predictions read faster."""
    name = self.encoder.name
    return params | {name: self.encoder.for_prediction(params[name], dtype)}

  @classmethod
  def keys(cls, kind: str) -> Keys:
    """Returns the names of tensors on disk."""
    unused = tuple(f"{TEXT}.{x}." for x in ("pooler", "lm_predictions", "mask_predictions"))
    rows = (*_rows_of_encoders(cls), *_own_rows())
    return Keys.of(rows, unused=(*unused, "rnn."), elsewhere=("token_rep_layer.labels_",))

  @classmethod
  def read_config(cls, raw: dict[str, Any], path: Path) -> Described:
    """Returns the contents of a gliner_config.json."""
    _check_kind(raw, path)
    check_fixed(raw, cls.fixed, f"{path}: ")
    mode = str(raw.get("span_mode", "markerV0")).replace("-", "_")
    if mode not in ("markerV0", "token_level"):
      raise InputError(f"{path}: span_mode: {mode!r}; expected 'markerV0' or 'token_level'")
    two = raw.get("labels_encoder") or raw.get("labels_encoder_config")
    fields: dict[str, Any] = {
      **{
        x.name: raw[x.name] for x in dataclasses.fields(GlinerConfig) if raw.get(x.name) is not None
      },
      "encoder": _inner(raw, "encoder_config", "model_name", path),
      "labels_encoder": _inner(raw, "labels_encoder_config", "labels_encoder", path)
      if two
      else None,
      "lstm_layers": 0 if two else raw.get("num_rnn_layers", 1),  # which two encoders never use
      "token_level": mode == "token_level",
      "embed_ent_token": raw.get("embed_ent_token", True),
    }
    rest = {x: raw[x] for x in raw if x not in ("architectures", "id2label", "label2id")}
    return Described(cls(**fields), f"{cls.prefix}{cls.unnamed}", rest=rest)

  @classmethod
  def write_config(cls, described: Described) -> dict[str, object]:
    """Returns the config.json, which is as the gliner_config.json that it was read from."""
    c: Any = described.config
    ways = "bi" if c.labels_encoder else "uni", "token" if c.token_level else "span"
    written: dict[str, Any] = {**described.rest, "architectures": [described.architecture]}
    for field, inner in (
      ("encoder_config", c.encoder),
      ("labels_encoder_config", c.labels_encoder),
    ):
      if inner is not None:
        own = written.get(field) or inner.write_config(Described(inner, f"{inner.prefix}Model"))
        written[field] = {**own, "vocab_size": inner.vocab_size}
    return written | {"model_type": "gliner_{}_encoder_{}".format(*ways)}

  @property
  def about(self) -> str:
    """Returns a description for model cards."""
    return f"A {self.title} ({self.paper}) on a {self.encoder.title}"

  @property
  def not_in_transformers(self) -> str:
    """Returns why transformers has no class for it."""
    return "the package gliner has its classes"


@dataclasses.dataclass(frozen=True)
class GlinerLabelsConfig(GlinerConfig):
  """Sizes of the encoder that reads the labels of a GLiNER of two encoders."""

  name: ClassVar[str] = "gliner_labels"
  title: ClassVar[str] = "GLiNER's encoder of labels"
  tensors: ClassVar[str] = OF_LABELS
  words_folder: ClassVar[str] = LABELS

  @classmethod
  def read_config(cls, raw: dict[str, Any], path: Path) -> Described:
    """Returns the contents of a gliner_config.json, of which it is the encoder of labels."""
    read = GlinerConfig.read_config(raw, path)
    of_texts: Any = read.config
    if of_texts.labels_encoder is None:
      raise InputError(f"{path}: no encoder of labels; expected a GLiNER of two encoders")
    if not has_tokenizer(folder := path.parent / LABELS):
      get = f"`hf download {raw.get('labels_encoder')} --include '*token*' --local-dir {folder}`"
      raise InputError(f"{folder}: no tokenizer; expected the one that {get} fetches")
    sizes: dict[str, Any] = {"hidden_size": of_texts.hidden_size, "lstm_layers": 0}
    return dataclasses.replace(read, config=cls(encoder=of_texts.labels_encoder, **sizes))

  @classmethod
  def keys(cls, kind: str) -> Keys:
    """Returns the names of tensors on disk."""
    projection = linear("gliner_labels/projection", "token_rep_layer.labels_projection")
    return Keys.of((*_rows_of_encoders(cls), *projection), elsewhere=("",))


def _check_kind(raw: Mapping[str, Any], path: Path) -> None:
  """Raises InputError for a GLiNER that does more, or other, than finding names."""
  kind = str(raw.get("model_type", ""))
  others = {"relations_layer": "of relations", "labels_decoder": "that writes labels itself"}
  for field, what in others.items():
    if raw.get(field) is not None:
      raise InputError(f"{path}: {field}: a GLiNER {what}{OTHERS}")
  if kind.endswith(("relex", "decoder", "streaming_span")):
    raise InputError(f"{path}: model_type: {kind!r}{OTHERS}")


def _inner(raw: Mapping[str, Any], field: str, source: str, path: Path) -> System:
  """Returns the sizes of an encoder, of the config or of the model that it is named after."""
  entries = raw.get(field)
  if entries is None:
    name = str(raw.get(source))
    found = table.SIZES.get(name.rpartition("/")[-1])
    if found is None:
      raise InputError(f"{path}: {field}: missing; expected the config.json of {name} as it")
    return found
  if not isinstance(entries, dict):
    raise InputError(f"{path}: {field}: {entries!r:.60}; expected the config.json of a model in it")
  kind = entries.get("model_type", "deberta-v2")
  system = table.system_of(kind) if kind in INNER else None
  if system is None:
    raise InputError(f"{path}: {field}: model_type: {kind!r}; expected one of {', '.join(INNER)}")
  return system.described(entries, path).config


def _rows_of_encoders(system: type[GlinerConfig]) -> Iterator[Key]:
  """Yields the keys of encoders of all systems, which have paths of their own."""
  for kind in INNER:
    inner = table.system_of(kind)
    assert inner is not None
    keys = inner.keys(NONE)
    for path, key in keys.rows.items():
      if path.startswith(f"{inner.name}/"):
        names = (f"{system.tensors}.{x.removeprefix(f'{keys.encoder}.')}" for x in key.names)
        yield dataclasses.replace(key, path=f"{system.name}/{path}", names=tuple(names))


def _own_rows() -> Iterator[Key]:
  """Yields the keys of the layers after the encoder."""
  yield from linear("gliner/projection", "token_rep_layer.projection")
  for way, end in zip(WAYS, ("", "_reverse"), strict=True):
    for ours, theirs in (("input", "ih"), ("hidden", "hh")):
      name = f"_{theirs}_l{{layer}}{end}"
      yield Key(f"gliner/lstm/{way}_{ours}", (f"rnn.lstm.weight{name}",), 1)
      yield Key(f"gliner/lstm/{way}_{ours}_bias", (f"rnn.lstm.bias{name}",))
  spans = "span_rep_layer.span_rep_layer"
  for path, name in (
    *((x, f"{spans}.project_{x}") for x in ("start", "end")),
    ("label", "prompt_rep_layer"),
  ):
    yield from linear(f"{path}/up", f"{name}.0")
    yield from linear(f"{path}/down", f"{name}.3")
  for path, name in (
    ("span_up", f"{spans}.out_project.0"),
    ("span_down", f"{spans}.out_project.3"),
    ("word_parts", "scorer.proj_token"),
    ("label_parts", "scorer.proj_label"),
    ("judge_up", "scorer.out_mlp.0"),
    ("judge_down", "scorer.out_mlp.3"),
  ):
    yield from linear(path, name)


SIZES: dict[str, System] = {}  # of no name: they are those of a backbone
