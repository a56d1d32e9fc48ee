"""The protocol of all tokenizers, special tokens and their places in a text, and files of both."""

import abc
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from luke_jax.errors import InputError, at
from luke_jax.files import Path, read_json_object

if TYPE_CHECKING:
  import tokenizers

CONFIG, ADDED, WHOLE = "tokenizer_config.json", "added_tokens.json", "tokenizer.json"
SPECIAL_MAP = "special_tokens_map.json"
# It has had two names for the list of special tokens that have no role.
MORE_SPECIAL = ("additional_special_tokens", "extra_special_tokens")


class Roles(NamedTuple):
  """Names that a vocabulary gives to the five special tokens of every model."""

  start: str
  pad: str
  end: str
  unknown: str
  mask: str


ROBERTA = Roles("<s>", "<pad>", "</s>", "<unk>", "<mask>")
BERT = Roles("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]")
# The keys of transformers for the names in `Roles`.
ROLE_KEYS = Roles("cls_token", "pad_token", "sep_token", "unk_token", "mask_token")
MARKERS = ("<ent>", "<ent2>")
# The entities of every vocabulary.
PAD, UNKNOWN, MASK, MASK2 = "[PAD]", "[UNK]", "[MASK]", "[MASK2]"
SPECIAL = (PAD, UNKNOWN, MASK, MASK2)

Bounds = tuple[int, int]  # start and end of characters or of tokens, half-open


class Tokens(NamedTuple):
  """Tokens of one text; `offsets`, on request, are their half-open character spans.

  A span leaves out the white space before a word. It is empty for a token that stands for no
  character of the text, as SentencePiece's lone word mark does.
  """

  ids: list[int]
  offsets: list[Bounds] | None = None


EncodePlain = Callable[[Sequence[str], bool], list[Tokens]]


class _Piece(NamedTuple):
  text: str
  start: int
  id: int | None


@dataclass(frozen=True)
class SpecialTokens:
  """Ids of the special tokens, and of the two markers of an entity in the text, if any."""

  ids: Mapping[str, int]
  markers: tuple[str, ...] = MARKERS
  roles: Roles = ROBERTA
  mask_as_word: bool = True  # white space before a mask belongs to it, as to a word

  @property
  def start(self) -> int:
    """Returns the id of the token that opens every row."""
    return self.ids[self.roles.start]

  @property
  def pad(self) -> int:
    """Returns the id of padding."""
    return self.ids[self.roles.pad]

  @property
  def end(self) -> int:
    """Returns the id of the token that closes every text."""
    return self.ids[self.roles.end]

  @property
  def unknown(self) -> int:
    """Returns the id of what the vocabulary lacks."""
    return self.ids[self.roles.unknown]

  @property
  def mask(self) -> int:
    """Returns the id of the mask."""
    return self.ids[self.roles.mask]

  def around(self, texts: int) -> int:
    """Returns the number of special tokens in a row of one or two texts."""
    return 1 + texts + (texts - 1) * self.doubled

  @property
  def doubled(self) -> bool:
    """Returns true if two ends stand between two texts, as in RoBERTa; BERT has one."""
    return self.roles.end == ROBERTA.end

  @property
  def marker_ids(self) -> tuple[int, ...]:
    """Returns the ids of the markers `<ent>` and `<ent2>`, none where the model never had them."""
    return tuple(self.ids[marker] for marker in self.markers)

  @cached_property
  def names(self) -> dict[int, str]:
    """Returns the token of each special id."""
    return {id: token for token, id in self.ids.items()}

  @cached_property
  def _pattern(self) -> re.Pattern[str]:
    longest_first = sorted(self.ids, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)))

  def with_words(self, words: Iterable[str], first: int) -> "SpecialTokens":
    """Returns these and more, with ids from `first`; LUKE's markers among them become markers."""
    new = [word for word in words if word not in self.ids]
    ids = {**self.ids, **{word: first + i for i, word in enumerate(new)}}
    return replace(self, ids=ids, markers=self.markers or markers_among(ids))

  def encode(self, texts: Sequence[str], encode_plain: EncodePlain, offsets: bool) -> list[Tokens]:
    """Returns the tokens of texts: special tokens as they are, the rest by `encode_plain`."""
    if not any(map(self._pattern.search, texts)):
      return encode_plain(texts, offsets)
    pieces = [self._pieces(text) for text in texts]
    between = [piece.text for row in pieces for piece in row if piece.id is None]
    plain = iter(encode_plain(between, offsets))
    return [_joined(row, plain, offsets) for row in pieces]

  def decode(self, ids: Iterable[int], decode_plain: Callable[[list[int]], str]) -> str:
    """Returns the text of ids: special tokens by name, the runs between them by `decode_plain`."""
    text = []
    for special, group in itertools.groupby(map(int, ids), self.names.__contains__):
      run = list(group)
      text += [self.names[id] for id in run] if special else [decode_plain(run)]
    return "".join(text)

  def _pieces(self, text: str) -> list[_Piece]:
    pieces, start = [], 0
    for match in self._pattern.finditer(text):
      before = text[start : match.start()]
      if self.mask_as_word and match.group() == self.roles.mask:
        before = before.rstrip()
      if before:
        pieces.append(_Piece(before, start, None))
      pieces.append(_Piece(match.group(), match.start(), self.ids[match.group()]))
      start = match.end()
    if start < len(text):
      pieces.append(_Piece(text[start:], start, None))
    return pieces


def special_tokens(
  base: Mapping[str, int],
  base_size: int,
  added: Mapping[str, int],
  markers: tuple[str, ...] = MARKERS,
  *,
  roles: Roles = ROBERTA,
) -> SpecialTokens:
  """Returns a vocabulary's special tokens: its own, those added to it, then the markers."""
  ids = dict(base)
  for token, id in added.items():
    new = token not in base
    if type(id) is not int or ids.setdefault(token, id) != id or (new and id < base_size):
      raise InputError(
        f"added token {token!r} has id {id!r}; expected"
        f" {base.get(token, f'{base_size} or more, after the vocabulary')}"
      )
  for marker in markers:
    ids.setdefault(marker, max(base_size - 1, *ids.values()) + 1)
  if len(set(ids.values())) < len(ids):
    raise InputError(f"added tokens share an id in {dict(added)}; expected one id each")
  return SpecialTokens(ids, markers or markers_among(ids), roles)


def markers_among(tokens: Iterable[str]) -> tuple[str, ...]:
  """Returns LUKE's markers of entities if both are among the tokens."""
  return MARKERS if set(MARKERS).issubset(tokens) else ()


def _joined(pieces: list[_Piece], plain: Iterator[Tokens], with_offsets: bool) -> Tokens:
  ids: list[int] = []
  offsets: list[Bounds] = []
  for piece in pieces:
    if piece.id is None:
      tokens = next(plain)
      ids += tokens.ids
      offsets += [(start + piece.start, end + piece.start) for start, end in tokens.offsets or ()]
    else:
      ids.append(piece.id)
      offsets.append((piece.start, piece.start + len(piece.text)))
  return Tokens(ids, offsets if with_offsets else None)


def shifted(tokens: Tokens, by: int) -> Tokens:
  """Returns tokens whose offsets are moved by so many characters, to 0 at least."""
  if not by or tokens.offsets is None:
    return tokens
  return Tokens(tokens.ids, [(max(s + by, 0), max(e + by, 0)) for s, e in tokens.offsets])


def tokenizer_config(directory: Path) -> dict[str, Any]:
  """Returns the settings in tokenizer_config.json; empty without such a file."""
  return _object(directory / CONFIG, "a tokenizer's settings")


def whole_tokenizer(directory: Path) -> dict[str, Any]:
  """Returns the contents of tokenizer.json; empty without such a file."""
  return _object(directory / WHOLE, "a tokenizer")


def special_map(directory: Path) -> dict[str, object]:
  """Returns the names in special_tokens_map.json; empty without such a file."""
  return _object(directory / SPECIAL_MAP, "an object of role -> token")


def token_name(token: object) -> str | None:
  """Returns the name of a token, written as a string or as an object; None for anything else."""
  name = token.get("content") if isinstance(token, dict) else token
  return name if isinstance(name, str) and name else None


def read_special_tokens(
  directory: Path,
  base: Mapping[str, int],
  base_size: int,
  markers: tuple[str, ...],
  *,
  roles: Roles = ROBERTA,
) -> SpecialTokens:
  """Reads the special tokens beside a vocabulary, of which `base` are its own.

  Entity markers that the settings do not name are `markers`, if any.
  """
  config = tokenizer_config(directory)
  pair = [config.get(f"entity_token_{i}") or config.get(f"entity_{i}_token") for i in (1, 2)]
  defaults = markers or (None, None)
  named = [token_name(name) or default for name, default in zip(pair, defaults, strict=True)]
  entity_markers = tuple(name for name in named if name is not None)
  # transformers 5 adds the special entities to the words, where the model has no rows for them.
  added = {t: i for t, i in added_tokens(directory).items() if t not in SPECIAL}
  with at(directory):
    return special_tokens(
      base, base_size, added, entity_markers if len(entity_markers) == 2 else (), roles=roles
    )


def is_mask_a_word(directory: Path, mask: str) -> bool:
  """Returns what files say of white space before a mask: first what transformers reads first."""
  decoder = tokenizer_config(directory).get("added_tokens_decoder") or {}
  described = [
    *(whole_tokenizer(directory).get("added_tokens") or ()),
    *(decoder.values() if isinstance(decoder, dict) else ()),
    special_map(directory).get("mask_token"),
  ]
  told = (x for x in described if isinstance(x, dict) and x.get("content") == mask)
  return next((x["lstrip"] for x in told if isinstance(x.get("lstrip"), bool)), True)


def added_tokens(directory: Path) -> dict[str, int]:
  """Returns the tokens added to a vocabulary, wherever this version of transformers wrote them."""
  if (directory / ADDED).exists():
    return read_json_object(directory / ADDED, "an object of token -> id")
  config = tokenizer_config(directory)
  try:
    if "added_tokens_decoder" in config:
      return {token["content"]: int(id) for id, token in config["added_tokens_decoder"].items()}
    tokens = whole_tokenizer(directory).get("added_tokens", [])
    return {token["content"]: token["id"] for token in tokens}
  except (AttributeError, KeyError, TypeError, ValueError):
    raise InputError(
      f"{directory}: added tokens in an unknown form; expected {ADDED}, or tokens with their"
      f" content and id in {CONFIG} or {WHOLE}"
    ) from None


def _object(path: Path, expected: str) -> dict[str, object]:
  return read_json_object(path, expected) if path.exists() else {}


class Tokenizer(Protocol):
  """Conversion of strings to word ids and back."""

  special: SpecialTokens
  vocab_size: int
  """One more than the highest id, special tokens and markers included."""
  whole_words: bool = False
  """True if each id is a word, which may have arrays `beside` it."""

  @property
  def sizes(self) -> dict[str, int]:
    """Returns the number of ids of each kind, by its field in a model's config, if it has kinds."""
    return {}

  def encode(self, texts: Sequence[str], *, offsets: bool = False) -> list[Tokens]:
    """Returns the tokens of each text, with their character offsets on request."""
    return self.special.encode(texts, self._encode_plain, offsets)

  @abc.abstractmethod
  def _encode_plain(self, texts: Sequence[str], offsets: bool) -> list[Tokens]:
    """Returns the tokens of texts without special ones."""

  @abc.abstractmethod
  def decode(self, ids: Iterable[int]) -> str:
    """Returns the text of ids, special tokens included."""

  def units(self, text: str) -> list[str]:
    """Returns the pieces of a text as they are written, one for each id that `encode` gives."""
    (tokens,) = self.encode([text], offsets=True)
    return [text[start:end] for start, end in tokens.offsets or ()]

  def beside(self, words: Sequence[str]) -> dict[str, np.ndarray]:
    """Returns the arrays beside the words of a row and its two ends, which have none."""
    return {}

  @abc.abstractmethod
  def piece_id(self, piece: str) -> int:
    """Returns the id of a piece as the vocabulary spells it, or of the unknown one."""

  @abc.abstractmethod
  def with_words(self, words: Iterable[str]) -> "Tokenizer":
    """Returns a tokenizer that also knows these words, each of which is one token."""

  @abc.abstractmethod
  def word_starts(self, *, as_spelt: bool = False) -> np.ndarray | None:
    """Returns whether each piece starts a word, (ids,), as special tokens and punctuation do.

    `as_spelt` looks at the vocabulary's spelling of a piece, as the code of LUKE's authors does: in
    that of bytes a dash begins with a letter. The result is None if pieces do not show it, as
    SentencePiece's do not.
    """

  @abc.abstractmethod
  def hub_settings(self) -> dict[str, object]:
    """Returns the entries of tokenizer_config.json by which transformers reads the files."""

  @abc.abstractmethod
  def save_vocab(self, directory: Path) -> None:
    """Writes the files of the vocabulary, without the special tokens."""


class PiecesOfLibrary(Tokenizer):
  """A tokenizer whose pieces the library `tokenizers` finds, on one text or many at once."""

  _library: "tokenizers.Tokenizer"

  def piece_id(self, piece: str) -> int:
    """Returns the id of a piece as the vocabulary spells it, or of the unknown one."""
    id = self._library.token_to_id(piece)
    return self.special.unknown if id is None else id

  def _encode_plain(self, texts: Sequence[str], offsets: bool) -> list[Tokens]:
    if not offsets:  # the faster call keeps no track of characters
      encodings = self._library.encode_batch_fast(texts, add_special_tokens=False)
      return [Tokens(encoding.ids) for encoding in encodings]
    encodings = self._library.encode_batch(texts, add_special_tokens=False)
    return [
      Tokens(encoding.ids, self._places(encoding, text))
      for encoding, text in zip(encodings, texts, strict=True)
    ]

  def _places(self, encoding: "tokenizers.Encoding", text: str) -> list[Bounds]:
    """Returns the characters of each piece of a text, without the white space before a word."""
    return encoding.offsets
