"""A linker's knowledge: entities, a vector of what each one is, and the names that may mean them.

A folder of arrays that are mapped from disk, so that millions of entities take no memory.
"""

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.files.copies import local
from luke_jax.pipeline.reads import cached
from luke_jax.tasks.predictions import Evidence
from luke_jax.text.json_files import read_json_object
from luke_jax.text.special_tokens import Bounds
from luke_jax.wiki.stages.tokens import LINE_END, SPACELESS, TOKEN

MANIFEST, MODEL = "knowledge.json", "model"
ABOUT, OFFSETS, VECTORS = "about.jsonl", "about_offsets.npy", "vectors.npy"
TITLES, TITLE_IDS = "titles.npy", "title_ids.npy"
NAMES, STARTS, IDS, WEIGHTS = "names.npy", "name_starts.npy", "name_ids.npy", "name_weights.npy"
LINKED, EVIDENCE = "name_linked.npy", "name_evidence.npy"
KEPT = 2  # places where a name means an entity
LONGEST, MOST_TOKENS = 8, 16  # words of a name; words, marks and characters without spaces
AT_ONCE = 4096  # tokens whose names are looked up together
NONE = -1  # as an id: no entity
JOINTS = ".&'’-"  # make one word of two: U.S, AT&T, O'Brien, Jean-Paul
HANGUL = range(0xAC00, 0xD7A4)


@dataclasses.dataclass(frozen=True)
class About:
  """An entity as it is known: title, description and item."""

  title: str
  description: str = ""
  item: str | None = None  # of Wikidata


class Candidates(NamedTuple):
  """The entities that a name may mean, the likeliest first, and how often it means each of them.

  Priors are of the name wherever it stands, so that those of a common word sum to almost nothing.
  """

  ids: np.ndarray  # (C,)
  priors: np.ndarray  # (C,)


class Named(NamedTuple):
  """A name in a text, `text[start:end]`, and what it may mean."""

  start: int
  end: int
  candidates: Candidates


class Knowledge:
  """The finished folder; opening it reads almost nothing."""

  def __init__(self, folder: Path):
    self.folder = folder
    if not (folder / MANIFEST).is_file():
      expected = "expected a folder that luke-jax entities describe made, as --knowledge FOLDER"
      beside = "or in the model's folder as knowledge"
      raise InputError(f"{folder}: no knowledge of entities; {expected} {beside}")
    self.facts = read_json_object(folder / MANIFEST, "the facts of that folder")
    self._about = local(folder / ABOUT)
    self._offsets, self._vectors = self._array(OFFSETS), self._array(VECTORS)
    self._titles, self._title_ids = self._array(TITLES), self._array(TITLE_IDS)
    self._names, self._starts = self._array(NAMES), self._array(STARTS)
    self._ids, self._weights = self._array(IDS), self._array(WEIGHTS)
    self._linked, self._evidence = self._array(LINKED), self._array(EVIDENCE)

  def _array(self, name: str) -> np.ndarray:
    try:
      return np.load(local(self.folder / name), mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as fault:
      raise InputError(f"{self.folder / name}: {fault}; expected an array") from None

  def __len__(self) -> int:
    return len(self._vectors)

  @property
  def width(self) -> int:
    """Returns the width of the entities' vectors."""
    return self._vectors.shape[1]

  @property
  def fingerprint(self) -> str:
    """Returns what tells this knowledge from another."""
    return str(self.facts["fingerprint"])

  @property
  def described_by(self) -> str:
    """Returns the hash of the weights of the model that made the vectors, "" if it is not known."""
    return str(self.facts.get(MODEL, ""))

  @property
  def all_vectors(self) -> np.ndarray:
    """Returns the vectors of all entities as they are in the file."""
    return self._vectors

  def vectors(self, ids: np.ndarray) -> np.ndarray:
    """Returns the vectors of entities in float32, zeros for `NONE`."""
    found = np.asarray(self._vectors[np.maximum(ids, 0)], np.float32)
    found[ids == NONE] = 0
    return found

  @property
  def meanings(self) -> "Meanings":
    """Returns all names and what they mean."""
    keys, linked = (np.repeat(x, np.diff(self._starts)) for x in (self._names, self._linked))
    ids, weights, evidence = map(np.asarray, (self._ids, self._weights, self._evidence))
    return Meanings(keys, ids, weights, linked, evidence)

  @property
  def lines(self) -> list[bytes]:
    """Returns the lines of all entities."""
    return self._about.read_bytes().splitlines(keepends=True)

  def about(self, id: int) -> About:
    """Returns what is known of an entity."""
    start, end = self._offsets[id : id + 2].tolist()
    with self._about.open("rb") as file:
      file.seek(start)
      return About(**json.loads(file.read(end - start)))

  def id_of(self, title: str) -> int:
    """Returns the entity with a title, or with an item of Wikidata, or `NONE`."""
    place = int(np.searchsorted(self._titles, key := key_of(title)))
    found = place < len(self._titles) and self._titles[place] == key
    return int(self._title_ids[place]) if found else NONE

  def candidates(self, name: str, most: int) -> Candidates:
    """Returns the likeliest entities of a name; none for an unknown one."""
    place, part = self._place(name)
    if place == NONE:
      return Candidates(np.zeros(0, np.int32), np.zeros(0, np.float32))
    ids, weights = np.asarray(self._ids[part]), np.asarray(self._weights[part])
    priors = self._linked[place] * weights / weights.sum()
    return Candidates(ids[:most], priors[:most])

  def evidence(self, name: str, id: int) -> list[Evidence]:
    """Returns places of the wiki where a name means an entity; none for what it is called."""
    _, part = self._place(name)
    of_one = np.asarray(self._evidence[part])[np.asarray(self._ids[part]) == id]
    places = of_one.reshape(-1, 3).tolist()
    return [Evidence(self.about(page).title, *rest) for page, *rest in places if page != NONE]

  def _place(self, name: str) -> tuple[int, slice]:
    """Returns the place of a name and those of its meanings; `NONE` for an unknown one."""
    place = int(np.searchsorted(self._names, key := key_of(name)))
    if place == len(self._names) or self._names[place] != key:
      return NONE, slice(0)
    return place, slice(int(self._starts[place]), int(self._starts[place + 1]))

  def names_in(self, text: str, most: int) -> Iterator[Named]:
    """Yields the known names in a text from left to right, of those that overlap the longest."""
    for start, end in names_in(text, self._known):
      yield Named(start, end, self.candidates(text[start:end], most))

  def _known(self, names: Collection[str]) -> set[str]:
    """Returns the names that are known, looked up all at once."""
    keys = np.array([key_of(name) for name in names], np.uint64)
    places = np.searchsorted(self._names, keys)
    found = places < len(self._names)
    found[found] = self._names[places[found]] == keys[found]
    return set(itertools.compress(names, found))


def names_in(text: str, known: Callable[[set[str]], Collection[str]]) -> Iterator[Bounds]:
  """Yields the bounds of names in a text from left to right, of those that overlap the longest.

  `known` returns those of many texts that are names.
  """
  words = _Words(text)
  first = 0
  for block in range(0, len(words), AT_ONCE):
    stop = min(block + AT_ONCE, len(words))
    names = known({text[x:y] for i in range(block, stop) for _, x, y in words.names_from(i)})
    first = max(first, block)
    while first < stop:
      found = (x for x in words.names_from(first) if text[x[1] : x[2]] in names)
      after, start, end = next(found, (first + 1, 0, 0))
      if end:
        yield start, end
      first = after


def _tokens(text: str) -> Iterator[Bounds]:
  """Yields the bounds of words, of Korean syllables, and of characters that are no words."""
  for start, end in (match.span() for match in TOKEN.finditer(text)):
    if ord(text[start]) in HANGUL:
      yield from ((i, i + 1) for i in range(start, end))
    else:
      yield start, end


class _Words:
  """A text's tokens, and where names may begin and end: not inside of a word such as AT&T.

  A name may end before the ending of Warsaw's and Warsaw-based, and begin after the beginning of
  l'Assemblée and pro-Warsaw. Korean words end in particles, so that it may end after any of their
  syllables.
  """

  def __init__(self, text: str):
    self.bounds = list(_tokens(text))
    marks = [text[start] for start, _ in self.bounds]  # the first character of each
    self._is_word = [x.isalnum() and not SPACELESS.match(x) for x in marks]
    self._begins, self._ends = ([x != LINE_END for x in marks] for _ in range(2))
    for i, (start, end) in enumerate(self.bounds[1:-1], start=1):
      if self.bounds[i - 1][1] != start:
        continue
      if ord(marks[i]) in HANGUL and ord(marks[i - 1]) in HANGUL:
        self._begins[i] = self._is_word[i] = False
      elif marks[i] in JOINTS and end == self.bounds[i + 1][0]:
        self._join(i, *marks[i - 1 : i + 2])
    # No name goes over two ends of lines.
    self._stops = {i for i, pair in enumerate(itertools.pairwise(marks)) if pair == (LINE_END,) * 2}

  def _join(self, i: int, before: str, mark: str, after: str) -> None:
    if before.isalnum() and after.isalnum():
      parts = mark not in ".&"
      self._begins[i] = self._ends[i] = False
      self._ends[i - 1] = parts and after.islower()
      self._begins[i + 1] = parts and before.islower() and after.isupper()

  def __len__(self) -> int:
    return len(self.bounds)

  def names_from(self, first: int) -> list[tuple[int, int, int]]:
    """Returns what may be a name from a token on, the longest first: the token after it, bounds."""
    found: list[tuple[int, int, int]] = []
    if not self._begins[first]:
      return found
    start, words = self.bounds[first][0], 0
    for last in range(first, min(first + MOST_TOKENS, len(self))):
      words += self._is_word[last]
      if words > LONGEST or last in self._stops:
        break
      if self._ends[last]:
        found.append((last + 1, start, self.bounds[last][1]))
    return found[::-1]


@cached(4)
def open_knowledge(folder: str) -> Knowledge:
  """Returns the knowledge of a folder, opened once in a process."""
  if not folder:
    raise InputError(
      "task.knowledge: empty; expected a folder that luke-jax entities describe made, as --set"
      " task.knowledge=FOLDER"
    )
  return Knowledge(Path(folder))


def key_of(name: str) -> np.uint64:
  """Returns the number of a name, whatever white space it has."""
  digest = hashlib.blake2b(" ".join(name.split()).encode(), digest_size=8).digest()
  return np.frombuffer(digest, "<u8")[0]


class Meanings(NamedTuple):
  """Names by their keys and what each means, with a weight: an entry for each pair.

  Of each name there is how often it is a link, or another name of an entity, where it stands. Of
  each pair there are some places where it is: a page, the sentence's number, the first character.
  """

  keys: np.ndarray  # (M,)
  ids: np.ndarray  # (M,)
  weights: np.ndarray  # (M,)
  linked: np.ndarray  # (M,), from 0 to 1
  evidence: np.ndarray  # (M, KEPT, 3), NONE where there is none

  @classmethod
  def of(
    cls,
    names: Mapping[str, Mapping[int, float]],
    linked: Mapping[str, float] | None = None,
    evidence: Mapping[tuple[str, int], Sequence[tuple[int, int, int]]] | None = None,
  ) -> "Meanings":
    """Returns the entries of names with the weights of the entities that they may mean.

    A name that `linked` lacks is one wherever it stands.
    """
    linked, evidence = linked or {}, evidence or {}
    pairs = [(name, id, x) for name, of_one in names.items() for id, x in of_one.items()]
    places = np.full((len(pairs), KEPT, 3), NONE, np.int32)
    for row, (name, id, _) in enumerate(pairs):
      if found := evidence.get((name, id)):
        places[row, : len(found)] = found
    return cls(
      np.array([key_of(name) for name, *_ in pairs], np.uint64),
      np.array([id for _, id, _ in pairs], np.int32),
      np.array([weight for *_, weight in pairs], np.float32),
      np.array([linked.get(name, 1.0) for name, *_ in pairs], np.float32),
      places,
    )

  def __add__(self, other: Any) -> "Meanings":
    return Meanings(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


def write_knowledge(
  folder: Path,
  lines: Sequence[bytes],
  vectors: np.ndarray,
  meanings: Meanings,
  facts: Mapping[str, Any],
) -> None:
  """Writes a folder of knowledge; `lines` are those of `lines_of`, each an entity."""
  check_free(folder)
  folder.mkdir(parents=True, exist_ok=True)
  with whole(folder / ABOUT) as part:
    part.write_bytes(b"".join(lines))
  vectors = vectors.astype(np.float16)
  _save(folder / OFFSETS, np.cumsum([0, *map(len, lines)]))
  _save(folder / VECTORS, vectors)
  titles, items = zip(*map(_title_and_item, lines), strict=True) if lines else ((), ())
  with_item = [i for i, item in enumerate(items) if item]
  keys = np.array([*map(key_of, titles), *(key_of(items[i]) for i in with_item)], np.uint64)
  order = np.argsort(keys, kind="stable")
  _save(folder / TITLES, keys[order])
  _save(folder / TITLE_IDS, np.array([*range(len(lines)), *with_item], np.int32)[order])
  order = np.lexsort((meanings.ids, -meanings.weights, meanings.keys))
  keys, starts = np.unique(meanings.keys[order], return_index=True)
  _save(folder / NAMES, keys)
  _save(folder / STARTS, np.append(starts, len(order)))
  _save(folder / IDS, meanings.ids[order])
  _save(folder / WEIGHTS, meanings.weights[order])
  _save(folder / EVIDENCE, meanings.evidence[order])
  _save(folder / LINKED, np.maximum.reduceat(meanings.linked[order], starts))
  digest = hashlib.sha256(b"".join([*lines, *(x.tobytes() for x in (vectors, *meanings))]))
  counts = {"entities": len(lines), "names": len(keys), "width": vectors.shape[1]}
  with whole(folder / MANIFEST) as part:  # last: without it there is no knowledge
    text = json.dumps(
      {**facts, **counts, "fingerprint": digest.hexdigest()}, ensure_ascii=False, indent=1
    )
    part.write_text(text + "\n", encoding="utf-8")


def check_free(folder: Path) -> None:
  """Raises InputError for a folder that has knowledge."""
  if (folder / MANIFEST).exists():
    raise InputError(f"{folder}: knowledge is there already; expected another folder")


def _title_and_item(line: bytes) -> tuple[str, str | None]:
  entity = json.loads(line)
  return entity["title"], entity["item"]


def lines_of(entities: Iterable[About]) -> list[bytes]:
  """Returns the lines of the file of entities."""
  return [json.dumps(dataclasses.asdict(x), ensure_ascii=False).encode() + b"\n" for x in entities]


def _save(path: Path, array: np.ndarray) -> None:
  with whole(path) as part, part.open("wb") as file:
    np.save(file, array)
