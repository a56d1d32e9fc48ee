"""What masking and padding have to know of the vocabularies beside the records."""

import dataclasses
import re
import string
import unicodedata
from pathlib import Path

import numpy as np

from luke_jax.errors import InputError
from luke_jax.pipeline.kept import kept
from luke_jax.pipeline.masking import Ids
from luke_jax.text import SpecialTokens, Tokenizer, load_entity_vocab, load_tokenizer
from luke_jax.text.byte_level import ByteLevelTokenizer
from luke_jax.text.entity_vocab import MASK, SPECIAL

_SPECIAL_LINE = re.compile(r'\s*"(\[[A-Z2]+\])": (\d+),?\s*')


@dataclasses.dataclass(frozen=True)
class Words:
  """The word ids of a folder's records."""

  special: SpecialTokens
  ids: Ids


@kept(8)
def read_words(folder: str) -> Words:
  """The words of a folder's tokenizer. A process reads them once."""
  tokenizer = load_tokenizer(folder)
  special = tokenizer.special
  stop = min(tokenizer.vocab_size, *special.marker_ids)  # no text holds markers
  return Words(special, Ids(special.mask, special.pad + 1, stop, word_starts(tokenizer)))


def word_starts(tokenizer: Tokenizer) -> np.ndarray | None:
  """Whether each piece starts a word, (ids,); None where pieces do not tell, as SentencePiece's.

  A piece continues a word if it has no space before it and is no punctuation.
  """
  if not isinstance(tokenizer, ByteLevelTokenizer):
    return None
  names = tokenizer.special.names
  pieces = (None if id in names else tokenizer.decode([id]) for id in range(tokenizer.vocab_size))
  return np.array([piece is None or not _continues(piece) for piece in pieces])


def _continues(piece: str) -> bool:
  first = piece[:1]
  punctuation = first in string.punctuation or unicodedata.category(first).startswith("P")
  return not first.isspace() and not punctuation


@kept(8)
def read_entities(folder: str, size: int) -> Ids:
  """The entities of a folder of so many. A process reads them once."""
  special = _special_entities(Path(folder))
  first = 1 + max(special.values())
  if first >= size:
    raise InputError(f"{folder}: {size} entities; expected some beside {', '.join(special)}")
  return Ids(special[MASK], first, size)


def _special_entities(folder: Path) -> dict[str, int]:
  """The ids of the special entities, which stand before the millions of titles as we write them."""
  path = folder / "entity_vocab.json"
  if path.is_file():
    with path.open(encoding="utf-8") as lines:
      found = {}
      for line in lines:
        match = _SPECIAL_LINE.fullmatch(line)
        if match and match[1] in SPECIAL:
          found[match[1]] = int(match[2])
        elif found:
          break
    if MASK in found:
      return found
  vocab = load_entity_vocab(folder)
  return {name: vocab.ids[name] for name in SPECIAL if name in vocab.ids}
