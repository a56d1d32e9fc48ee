"""BERT's WordPiece vocabulary, the words of BERT and of both ERNIEs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.text.special_tokens import ROLE_KEYS, SpecialTokens, Tokens
from luke_jax.text.tokenizer import Tokenizer

if TYPE_CHECKING:
  import tokenizers

PIECES_FILE = "vocab.txt"
CHARACTERS_FILE = "characters.tsv"
CONTINUES = "##"
# Characters of a word that has pieces; a longer one is the unknown token.
LONGEST_WORD = 100


@dataclass(frozen=True)
class Normalization:
  """Changes made to a text before it is cut into pieces, as tokenizer_config.json names them.

  The defaults are those of transformers; None strips accents where the case is lowered.
  """

  do_lower_case: bool = True
  strip_accents: bool | None = None
  tokenize_chinese_chars: bool = True


class WordPieceTokenizer(Tokenizer):
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

  def encode(self, texts: Sequence[str], *, offsets: bool = False) -> list[Tokens]:
    """Returns the tokens of each text, with their character offsets on request."""
    return self.special.encode(texts, self._encode_plain, offsets)

  def decode(self, ids: Iterable[int]) -> str:
    """Returns the text of ids as transformers 5 does: special tokens too, a space between words."""
    return self._library.decoder.decode([self._token(int(id)) for id in ids])

  def piece_id(self, piece: str) -> int:
    """Returns the id of a piece as the vocabulary spells it, or of the unknown one."""
    id = self._library.token_to_id(piece)
    return self.special.unknown if id is None else id

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
    return {"tokenizer_class": "BertTokenizer", **asdict(self.normalization), **names}

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
    if not offsets:  # the faster call keeps no track of characters
      encodings = self._library.encode_batch_fast(texts, add_special_tokens=False)
      return [Tokens(encoding.ids) for encoding in encodings]
    encodings = self._library.encode_batch(texts, add_special_tokens=False)
    return [Tokens(encoding.ids, encoding.offsets) for encoding in encodings]

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
