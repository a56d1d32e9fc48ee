"""What masking and padding have to know of the vocabularies beside the records."""

import dataclasses
import re
from pathlib import Path

from luke_jax.errors import InputError
from luke_jax.pipeline.cache import cached
from luke_jax.pipeline.masking import Ids
from luke_jax.text import SpecialTokens, load_entity_vocab, load_tokenizer
from luke_jax.text.entity_vocab import MASK, SPECIAL

_SPECIAL_LINE = re.compile(r'\s*"(\[[A-Z2]+\])": (\d+),?\s*')


@dataclasses.dataclass(frozen=True)
class Words:
  """The word ids of a folder's records."""

  special: SpecialTokens
  ids: Ids


@cached(8)
def read_words(folder: str) -> Words:
  """The words of a folder's tokenizer. A process reads them once."""
  tokenizer = load_tokenizer(folder)
  special = tokenizer.special
  stop = min([tokenizer.vocab_size, *special.marker_ids])  # no text holds markers
  return Words(special, Ids(special.mask, special.pad + 1, stop, tokenizer.word_starts()))


@cached(8)
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
