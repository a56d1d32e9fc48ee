"""BERT's WordPiece vocabulary, the words of BERT and of both ERNIEs, and directories with one."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, read_text
from luke_jax.text.tokenizer import (
  BERT,
  CONFIG,
  MORE_SPECIAL,
  ROLE_KEYS,
  WHOLE,
  PiecesOfLibrary,
  Roles,
  SpecialTokens,
  Tokens,
  added_tokens,
  read_special_tokens,
  special_map,
  token_name,
  tokenizer_config,
  whole_tokenizer,
)

if TYPE_CHECKING:
  import tokenizers

PIECES_FILE = "vocab.txt"
CHARACTERS_FILE = "characters.tsv"
CONTINUES = "##"
# Characters of a word that has pieces; a longer one is the unknown token.
LONGEST_WORD = 100
# Tokenizers with a vocab.txt that find the words of a text by other means than BERT's.
OTHER_WORDS = ("BertJapaneseTokenizer", "RoFormerTokenizer")
# tokenizer.json's names for the fields of `Normalization`.
LIBRARY_KEYS = {
  "lowercase": "do_lower_case",
  "strip_accents": "strip_accents",
  "handle_chinese_chars": "tokenize_chinese_chars",
}


@dataclass(frozen=True)
class Normalization:
  """Changes made to a text before it is cut into pieces, as tokenizer_config.json names them.

  The defaults are those of transformers; None strips accents where the case is lowered.
  """

  do_lower_case: bool = True
  strip_accents: bool | None = None
  tokenize_chinese_chars: bool = True


class WordPieceTokenizer(PiecesOfLibrary):
  """Strings <-> ids by WordPiece: the longest pieces first, `##` before those inside a word.

  `pieces` are in the order of their ids. A repeated piece has the last id, as in
  transformers. `characters` are read as other ones, such as traditional Chinese as simplified; one
  stands for one, so that offsets are those of the text as it was.
  """

  def __init__(
    self,
    pieces: Sequence[str],
    special: SpecialTokens,
    normalization: Normalization = Normalization(),
    characters: Mapping[str, str] | None = None,
  ):
    self._pieces = tuple(pieces)
    self.characters = dict(characters or {})
    self._translation = str.maketrans(self.characters)
    self._library = _library_tokenizer(self._pieces, special.roles.unknown, normalization)
    self.special = special
    self.normalization = normalization
    self.vocab_size = 1 + max(len(self._pieces) - 1, *special.ids.values())

  def decode(self, ids: Iterable[int]) -> str:
    """Returns the text of ids as transformers 5 does: special tokens too, a space between words."""
    return self._library.decoder.decode([self._token(int(id)) for id in ids])

  def with_words(self, words: Iterable[str]) -> "WordPieceTokenizer":
    """Returns a tokenizer that also knows these words, each of which is one token."""
    special = self.special.with_words(words, self.vocab_size)
    return WordPieceTokenizer(self._pieces, special, self.normalization, self.characters)

  def with_characters(self, characters: Mapping[str, str]) -> "WordPieceTokenizer":
    """Returns a tokenizer that reads single characters as other ones."""
    for pair in characters.items():
      if any(len(x) != 1 for x in pair):
        raise InputError(f"characters: {pair}; expected one character for one")
    return WordPieceTokenizer(self._pieces, self.special, self.normalization, characters)

  def word_starts(self, *, as_spelt: bool = False) -> np.ndarray:
    """Returns whether each piece starts a word, (ids,): all do but those with `##`."""
    starts = np.ones(self.vocab_size, bool)
    starts[: len(self._pieces)] = [not piece.startswith(CONTINUES) for piece in self._pieces]
    return starts

  def hub_settings(self) -> dict[str, object]:
    """Returns the entries of tokenizer_config.json by which transformers reads the files."""
    names = dict(zip(ROLE_KEYS, self.special.roles, strict=True))
    name = "MPNetTokenizer" if self.special.doubled else "BertTokenizer"
    return {"tokenizer_class": name, **asdict(self.normalization), **names}

  def save_vocab(self, directory: Path) -> None:
    """Writes vocab.txt, and characters.tsv if some characters are read as others."""
    text = "".join(f"{piece}\n" for piece in self._pieces)
    (directory / PIECES_FILE).write_bytes(text.encode())
    if self.characters:
      text = "".join(f"{one}\t{other}\n" for one, other in self.characters.items())
      (directory / CHARACTERS_FILE).write_bytes(text.encode())

  def _encode_plain(self, texts: Sequence[str], offsets: bool) -> list[Tokens]:
    if self.characters:
      texts = [text.translate(self._translation) for text in texts]
    return super()._encode_plain(texts, offsets)

  def _token(self, id: int) -> str:
    name = self.special.names.get(id)
    if name is None and not 0 <= id < len(self._pieces):
      raise InputError(f"id {id}: expected ids from 0 to {self.vocab_size - 1}")
    return self._pieces[id] if name is None else name


def _library_tokenizer(
  pieces: Sequence[str], unknown: str, normalization: Normalization
) -> "tokenizers.Tokenizer":
  import tokenizers
  from tokenizers import decoders, normalizers, pre_tokenizers
  from tokenizers.models import WordPiece

  ids = {piece: id for id, piece in enumerate(pieces)}
  model = WordPiece(ids, unk_token=unknown, max_input_chars_per_word=LONGEST_WORD)
  tokenizer = tokenizers.Tokenizer(model)
  tokenizer.normalizer = normalizers.BertNormalizer(
    lowercase=normalization.do_lower_case,
    strip_accents=normalization.strip_accents,
    handle_chinese_chars=normalization.tokenize_chinese_chars,
  )
  tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
  tokenizer.decoder = decoders.WordPiece(prefix=CONTINUES)
  return tokenizer


def load_word_piece(directory: Path) -> WordPieceTokenizer:
  """Reads vocab.txt or else tokenizer.json, with the settings beside it.

  Lower-casing and the like come from tokenizer_config.json, else tokenizer.json, else the defaults
  of transformers, which lower the case. Added tokens are recognised as they are spelt. With a
  characters.tsv, the first character of each line is read as the one after the tab.
  """
  config, settings = tokenizer_config(directory), whole_tokenizer(directory)
  if str(config.get("tokenizer_class")).removesuffix("Fast") in OTHER_WORDS:
    raise InputError(
      f"{directory / CONFIG}: tokenizer_class is {config['tokenizer_class']!r}; expected"
      " BertTokenizer or one that finds words as it does"
    )
  library = _library_settings(directory / WHOLE, settings) if settings else {}
  path = directory / (PIECES_FILE if (directory / PIECES_FILE).exists() else WHOLE)
  pieces = read_pieces(path) if path.name == PIECES_FILE else _whole_pieces(path, settings)
  normalization = _normalization(directory / CONFIG, config, library)
  ids = {piece: id for id, piece in enumerate(pieces)}
  names = special_map(directory) | config
  roles = named_roles(path, names, ids)
  more = [token_name(token) for key in MORE_SPECIAL for token in _listed(names.get(key))]
  base = {name: ids[name] for name in (*roles, *more, *added_tokens(directory)) if name in ids}
  special = read_special_tokens(directory, base, len(pieces), (), roles=roles)
  tokenizer = WordPieceTokenizer(pieces, special, normalization)
  characters = directory / CHARACTERS_FILE
  return tokenizer.with_characters(_characters(characters)) if characters.exists() else tokenizer


def is_word_piece(directory: Path) -> bool:
  """Returns whether a directory has a WordPiece vocabulary."""
  if (directory / PIECES_FILE).exists():
    return True
  model = whole_tokenizer(directory).get("model")
  return isinstance(model, dict) and _type(model) == "WordPiece"


def read_pieces(path: Path) -> list[str]:
  """Reads a vocab.txt: a piece on each line, in Baidu's files a tab and its id after it."""
  lines = read_text(path).split("\n")  # not splitlines: a piece may be U+2028
  while lines and not lines[-1]:
    lines.pop()
  if lines and lines[0].endswith("\t0"):
    return [_without_id(path, number, line) for number, line in enumerate(lines)]
  for number, line in enumerate(lines):
    if line.endswith(f"\t{number}"):
      raise InputError(
        f"{path}: line {number + 1} is {line!r}; expected a piece alone, as on the first line, or"
        " a tab and the id after each"
      )
  return lines


def _without_id(path: Path, number: int, line: str) -> str:
  piece, _, id = line.rpartition("\t")
  if not piece or id != str(number):
    raise InputError(f"{path}: line {number + 1} is {line!r}; expected a piece, a tab and {number}")
  return piece


def _characters(path: Path) -> dict[str, str]:
  """Reads pairs of characters, in the form of OpenCC: of several after the tab, the first."""
  characters = {}
  for number, line in enumerate(read_text(path).removesuffix("\n").split("\n"), start=1):
    one, _, others = line.partition("\t")
    other = others.split(" ")[0].rstrip("\r")
    if len(one) != 1 or len(other) != 1:
      raise InputError(f"{path}: line {number} is {line!r}; expected a character, a tab, another")
    if one != other:
      characters[one] = other
  return characters


def _whole_pieces(path: Path, settings: Mapping[str, Any]) -> list[str]:
  vocab = settings["model"].get("vocab")
  ids = {id for id in vocab.values() if type(id) is int} if isinstance(vocab, dict) else {-1}
  if ids != set(range(len(ids))) or len(ids) < len(vocab):
    raise InputError(f"{path}: vocabulary with holes; expected every id from 0, one piece each")
  return sorted(vocab, key=vocab.__getitem__)


def _type(model: Mapping[str, Any]) -> str | None:
  """Returns the type of a model in a tokenizer.json, which the first ones did not name."""
  return model.get("type", "WordPiece" if "max_input_chars_per_word" in model else None)


def named_roles(path: Path, names: Mapping[str, object], pieces: Container[str]) -> Roles:
  """Returns the special tokens that settings name, or else BERT's, which a vocabulary has."""
  roles = Roles(*(token_name(names.get(key)) or BERT[i] for i, key in enumerate(ROLE_KEYS)))
  for name in roles:
    if name not in pieces:
      raise InputError(f"{path}: no token {name}; expected a vocabulary like BERT's")
  return roles


def _listed(tokens: object) -> list[object]:
  """Returns the tokens of a list, or of an object of role -> token."""
  if isinstance(tokens, dict):
    return list(tokens.values())
  return tokens if isinstance(tokens, list) else []


def _library_settings(path: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
  """Returns the normalization in a tokenizer.json, which must be of BERT's kind."""
  try:
    normalizer, model = settings["normalizer"], settings["model"]
    types = [normalizer["type"], settings["pre_tokenizer"]["type"], _type(model)]
    rest = [
      normalizer.get("clean_text", True),
      model.get("continuing_subword_prefix", CONTINUES),
      model.get("max_input_chars_per_word", LONGEST_WORD),
    ]
    if [types, rest] == [
      ["BertNormalizer", "BertPreTokenizer", "WordPiece"],
      [True, CONTINUES, LONGEST_WORD],
    ]:
      return {LIBRARY_KEYS[key]: normalizer[key] for key in LIBRARY_KEYS if key in normalizer}
    actual = f"{types}, {rest}"
  except (AttributeError, KeyError, TypeError):
    actual = "missing or in another form"
  raise InputError(
    f"{path}: normalizer, pre_tokenizer and model are {actual}; expected BertNormalizer that cleans"
    f" text, BertPreTokenizer and WordPiece with {CONTINUES} and words of {LONGEST_WORD} characters"
  )


def _normalization(
  path: Path, config: Mapping[str, Any], library: Mapping[str, object]
) -> Normalization:
  settings: dict[str, Any] = {}
  for key in LIBRARY_KEYS.values():
    if key in config or key in library:
      value = config.get(key, library.get(key))
      if not isinstance(value, bool) and (value is not None or key != "strip_accents"):
        raise InputError(f"{path}: {key} is {value!r}; expected true or false")
      settings[key] = value
  return Normalization(**settings)
