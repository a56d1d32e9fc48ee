"""Facts of the vocabularies beside the records that masking and padding need."""

import dataclasses
import re

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.pipeline.cache import cached
from luke_jax.pipeline.masking import Ids
from luke_jax.text import SpecialTokens, load_entity_vocab, load_tokenizer
from luke_jax.text.entity_vocab import MASK, SPECIAL

_SPECIAL_LINE = re.compile(r'\s*"(\[[A-Z2]+\])": (\d+),?\s*')


@dataclasses.dataclass(frozen=True)
class Words:
  """Facts of the word ids of a folder's records."""

  special: SpecialTokens
  ids: Ids


@cached(8)
def read_words(folder: str, authors: bool = False) -> Words:
  """Returns the words of a folder's tokenizer, read once in a process.

  Words begin where the tokenizer says or, with `authors`, where the code of LUKE's authors says.
  """
  tokenizer = load_tokenizer(folder)
  special = tokenizer.special
  stop = min([tokenizer.vocab_size, *special.marker_ids])  # no text holds markers
  return Words(
    special, Ids(special.mask, special.pad + 1, stop, tokenizer.word_starts(as_spelt=authors))
  )


@cached(8)
def read_entities(folder: str, size: int) -> Ids:
  """Returns the entities of a folder, `size` in number, read once in a process."""
  special = _special_entities(Path(folder))
  first = 1 + max(special.values())
  if first >= size:
    raise InputError(f"{folder}: {size} entities; expected some beside {', '.join(special)}")
  return Ids(special[MASK], first, size)


def _special_entities(folder: Path) -> dict[str, int]:
  """Returns the ids of the special entities, which come before all titles in our files."""
  path = folder / "entity_vocab.json"
  if path.is_file():
    with path.open(encoding="utf-8") as lines:
      ids = {}
      for line in lines:
        match = _SPECIAL_LINE.fullmatch(line)
        if match and match[1] in SPECIAL:
          ids[match[1]] = int(match[2])
        elif ids:
          break
    if MASK in ids:
      return ids
  vocab = load_entity_vocab(folder)
  return {name: vocab.ids[name] for name in SPECIAL if name in vocab.ids}
