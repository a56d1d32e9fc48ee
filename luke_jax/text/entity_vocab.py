"""Entity vocabularies: titles <-> ids."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from luke_jax.errors import InputError

PAD, UNKNOWN, MASK, MASK2 = "[PAD]", "[UNK]", "[MASK]", "[MASK2]"
SPECIAL = (PAD, UNKNOWN, MASK, MASK2)
LANGUAGE_KEY = re.compile(r"[a-z]{2,}(?:[-_][a-z]+)*:.")


@dataclass(frozen=True, eq=False, repr=False)
class EntityVocab:
  """Entity titles and their ids, in one language (`Title`) or in several (`en:Title`).

  Several keys may share an id: one entity under its titles in several languages. The special
  entities have no language, and their ids are those in `ids`. `counts`, if known, holds
  how often each id was linked.
  """

  ids: Mapping[str, int]
  multilingual: bool = False
  counts: Sequence[int] | None = None

  def __post_init__(self):
    for special in (PAD, UNKNOWN, MASK):
      if special not in self.ids:
        raise InputError(f"entity vocabulary: no {special}; expected {PAD}, {UNKNOWN} and {MASK}")
    for key, id in self.ids.items():
      if type(id) is not int or not 0 <= id < 2**31 or not isinstance(key, str):
        raise InputError(f"entity {key!r}: id {id!r}; expected a title and a whole number from 0")
    used = np.unique(np.fromiter(self.ids.values(), np.int64, len(self.ids)))
    if used[-1] != used.size - 1:
      hole = int(np.argmax(used != np.arange(used.size)))
      raise InputError(f"entity id {hole}: no title; expected every id from 0 to {used[-1]}")
    if self.counts is not None and len(self.counts) != used.size:
      raise InputError(f"entity counts: {len(self.counts)}; expected {used.size}, one for each id")

  def __len__(self) -> int:
    return self._size

  def __repr__(self) -> str:
    return f"EntityVocab({len(self)} ids, {len(self.ids)} titles)"

  @cached_property
  def _size(self) -> int:
    return 1 + max(self.ids.values())

  @cached_property
  def _keys(self) -> list[list[str]]:
    keys: list[list[str]] = [[] for _ in range(len(self))]
    for key, id in self.ids.items():
      keys[id].append(key)
    return keys

  @property
  def pad_id(self) -> int:
    """Returns the id of `[PAD]`."""
    return self.ids[PAD]

  @property
  def unknown_id(self) -> int:
    """Returns the id of `[UNK]`."""
    return self.ids[UNKNOWN]

  @property
  def mask_id(self) -> int:
    """Returns the id of `[MASK]`."""
    return self.ids[MASK]

  @property
  def mask2_id(self) -> int | None:
    """Returns the id of `[MASK2]`, None in a vocabulary without it."""
    return self.ids.get(MASK2)

  @cached_property
  def languages(self) -> frozenset[str]:
    """Returns the languages of the titles; empty if the titles have none."""
    if not self.multilingual:
      return frozenset()
    return frozenset(key.partition(":")[0] for key in self.ids if key not in SPECIAL)

  def id(self, title: str, language: str | None = None) -> int:
    """Returns the id of a title, or that of `[UNK]` if the vocabulary lacks it."""
    if title == MASK2 and self.mask2_id is None:
      raise InputError("entity vocabulary: no [MASK2]; expected it, the second entity of a pair")
    return self.ids.get(self._key(title, language), self.unknown_id)

  def contains(self, title: str, language: str | None = None) -> bool:
    """Returns whether the vocabulary has the title."""
    return self._key(title, language) in self.ids

  def titles(self, id: int) -> list[tuple[str, str | None]]:
    """Returns every title of an id, each with its language."""
    if not 0 <= id < len(self):
      raise InputError(f"entity id {id}: expected an id from 0 to {len(self) - 1}")
    return [self._split(key) for key in self._keys[id]]

  def title(self, id: int) -> str:
    """Returns the title of an id, the first one if it has several."""
    return self.titles(id)[0][0]

  def add(self, titles: Iterable[str], language: str | None = None) -> "EntityVocab":
    """Returns this vocabulary with titles added under new ids; the others keep theirs."""
    ids = dict(self.ids)
    size = len(self)
    if isinstance(titles, str):
      raise InputError(f"titles: {titles!r}; expected a list of titles")
    for new, title in enumerate(titles):
      if not isinstance(title, str) or not title.strip() or set(title) & set("\t\n"):
        raise InputError(f"title {new}: {title!r}; expected a string on one line")
      key = self._key(title, language)
      if ids.setdefault(key, size + new) != size + new:
        raise InputError(f"entity {key!r}: already in the vocabulary; expected a new title")
    new_counts = [0] * (len(ids) - len(self.ids))
    counts = None if self.counts is None else [*self.counts, *new_counts]
    return EntityVocab(ids, self.multilingual, counts)

  def check_language(self, language: str | None) -> None:
    """Raises InputError for a language without titles, or for None if titles have languages."""
    if language is None and self.multilingual:
      raise InputError(f"no language for entity titles; expected one of {self._known}")
    if language is not None and (type(language) is not str or language not in self.languages):
      raise InputError(f"entity language {language!r}; expected {self._known}")

  @property
  def _known(self) -> str:
    return ", ".join(sorted(self.languages)) or "none, for the titles are in no language"

  def _key(self, title: str, language: str | None) -> str:
    if title in SPECIAL:
      return title
    self.check_language(language)
    return title if language is None else f"{language}:{title}"

  def _split(self, key: str) -> tuple[str, str | None]:
    if not self.multilingual or key in SPECIAL:
      return key, None
    language, _, title = key.partition(":")
    return title, language


SPECIAL_ENTITIES = EntityVocab({title: id for id, title in enumerate(SPECIAL)})
"""Vocabulary of models that read no titles."""
