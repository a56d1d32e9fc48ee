"""Entity vocabularies: titles <-> ids, and their files: the authors' tsv and jsonl, and .json."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, read_json_object, read_text, write_json_in_place
from luke_jax.text.tokenizer import MASK, MASK2, PAD, SPECIAL, UNKNOWN

LANGUAGE_KEY = re.compile(r"[a-z]{2,}(?:[-_][a-z]+)*:.")
FILES = ("entity_vocab.json", "entity_vocab.tsv", "entity_vocab.jsonl", "tokenizer_config.json")
KINDS = "a .json, .jsonl or .tsv file"
RECORD = 'expected an object {"id": 7, "entities": [["Tokyo", "en"]], "count": 12}'


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


def load_entity_vocab(path: str | Path) -> EntityVocab:
  """Reads a vocabulary from a .json, .jsonl or .tsv file, or from the folder of a model."""
  path = Path(path)
  if not path.exists():
    raise InputError(f"{path}: no such file or directory; expected {KINDS}, or a model's directory")
  if path.is_dir():
    path = _file_in(path)
  try:
    if path.suffix == ".json":
      return _from_json(path)
    if path.suffix == ".jsonl":
      return _from_jsonl(path)
    if path.suffix == ".tsv":
      return _from_tsv(path)
  except InputError as error:
    raise InputError(str(error) if str(path) in str(error) else f"{path}: {error}") from None
  raise InputError(f"{path}: not an entity vocabulary; expected {KINDS}")


def save_entity_vocab(vocab: EntityVocab, path: str | Path) -> None:
  """Writes a vocabulary as Hugging Face's .json, or as the authors' .jsonl or .tsv.

  A count that is not known is written as 0; .json has no counts.
  """
  path = Path(path)
  if path.suffix == ".json":
    write_json_in_place(path, dict(sorted(vocab.ids.items(), key=lambda item: item[1])))
  elif path.suffix == ".jsonl":
    path.write_text("".join(_jsonl_lines(vocab)), encoding="utf-8")
  elif path.suffix == ".tsv":
    path.write_text("".join(_tsv_lines(vocab)), encoding="utf-8")
  else:
    raise InputError(f"{path}: cannot tell the format; expected a name in .json, .jsonl or .tsv")


def _file_in(directory: Path) -> Path:
  for name in FILES:
    if (directory / name).exists():
      return directory / name
  raise InputError(f"{directory}: no entity vocabulary; expected one of {', '.join(FILES)}")


def _from_json(path: Path) -> EntityVocab:
  keys = read_json_object(path, "an object of title -> id")
  if path.name == "tokenizer_config.json":  # transformers 5 writes the vocabulary in there
    keys = keys.get("entity_vocab")
    if not isinstance(keys, dict):
      raise InputError("no object 'entity_vocab' in it; expected one, or an entity_vocab.json")
  titles = [key for key in keys if key not in SPECIAL]
  if titles and all(key.startswith("None:") for key in titles):  # an old converter's slip
    keys = {key.removeprefix("None:"): id for key, id in keys.items()}
    return EntityVocab(keys)
  return EntityVocab(keys, multilingual=bool(titles) and all(map(LANGUAGE_KEY.match, titles)))


def _from_tsv(path: Path) -> EntityVocab:
  ids: dict[str, int] = {}
  counts = []
  for id, line in enumerate(_lines(path)):
    title, tab, count = line.rpartition("\t")
    if not tab or not title or not count.strip().isdecimal():
      raise InputError(f"{path}: line {id + 1} is {line!r}; expected title, tab, count")
    if ids.setdefault(title, id) != id:
      raise InputError(f"{path}: line {id + 1}: title {title!r} stands twice; expected it once")
    counts.append(int(count))
  return EntityVocab(ids, counts=counts)


def _from_jsonl(path: Path) -> EntityVocab:
  ids: dict[str, int] = {}
  counts: dict[int, int] = {}
  languages: set[str | None] = set()
  for number, line in enumerate(_lines(path), start=1):
    id, entities, count = _record(line, f"{path}: line {number}")
    if id in counts:
      raise InputError(f"{path}: line {number}: id {id} stands twice; expected one line for each")
    counts[id] = count
    for title, language in entities:
      is_special = title in SPECIAL
      key = title if is_special or language is None else f"{language}:{title}"
      if ids.setdefault(key, id) != id:
        raise InputError(
          f"{path}: line {number}: title {key!r} has id {ids[key]} already; expected one id"
        )
      if not is_special:
        languages.add(language)
  if None in languages and len(languages) > 1:
    raise InputError(f"{path}: titles with and without a language; expected one or the other")
  return EntityVocab(ids, bool(languages - {None}), [counts[id] for id in sorted(counts)])


def _record(line: str, where: str) -> tuple[int, list[tuple[str, str | None]], int]:
  try:
    record = json.loads(line)
    id, count = record["id"], record["count"]
    entities = [(title, language) for title, language in record["entities"]]
  except (ValueError, KeyError, TypeError):
    raise InputError(f"{where} is {line!r}; {RECORD}") from None
  titled = all(
    type(title) is str and (language is None or type(language) is str)
    for title, language in entities
  )
  if type(id) is not int or type(count) is not int or not titled:
    raise InputError(f"{where} is {line!r}; {RECORD}")
  return id, entities, count


def _lines(path: Path) -> list[str]:
  # Not splitlines: a title may hold one of the rarer line separators of Unicode.
  return read_text(path).removesuffix("\n").split("\n")


def _jsonl_lines(vocab: EntityVocab) -> Iterator[str]:
  counts = vocab.counts or [0] * len(vocab)
  for id, count in enumerate(counts):
    record = {"id": id, "entities": vocab.titles(id), "count": count}
    yield json.dumps(record, ensure_ascii=False) + "\n"


def _tsv_lines(vocab: EntityVocab) -> Iterator[str]:
  counts = vocab.counts or [0] * len(vocab)
  for id, count in enumerate(counts):
    titles = vocab.titles(id)
    if len(titles) > 1 or vocab.multilingual:
      raise InputError(
        f"entity id {id}: titles {titles}; expected one without a language, for .tsv holds no more"
      )
    yield f"{titles[0][0]}\t{count}\n"
