"""A linker's knowledge: entities, a vector of what each one is, and the names that may mean them.

A folder of arrays that are mapped from disk, so that millions of entities take no memory.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, is_part, read_json_object, whole
from luke_jax.files.copies import local
from luke_jax.pipeline.reads import cached
from luke_jax.tasks.linking.names import NONE, Meanings, NameTable, key_of, names_in
from luke_jax.tasks.predictions import Evidence
from luke_jax.text.tokenizer import Bounds
from luke_jax.wiki.stages.stored import save_array

MANIFEST, MODEL = "knowledge.json", "model"
ABOUT, OFFSETS, VECTORS = "about.jsonl", "about_offsets.npy", "vectors.npy"
TITLES, TITLE_IDS = "titles.npy", "title_ids.npy"
NAMES, STARTS, IDS, WEIGHTS = "names.npy", "name_starts.npy", "name_ids.npy", "name_weights.npy"
LINKED, EVIDENCE = "name_linked.npy", "name_evidence.npy"


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
    self._names = NameTable(*map(self._array, (NAMES, STARTS, IDS)))
    self._weights, self._linked = self._array(WEIGHTS), self._array(LINKED)
    self._evidence = self._array(EVIDENCE)

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
    names = self._names
    keys, linked = (np.repeat(x, np.diff(names.starts)) for x in (names.keys, self._linked))
    ids, weights, evidence = map(np.asarray, (names.ids, self._weights, self._evidence))
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

  def candidates(self, name: str, most: int | None = None) -> Candidates:
    """Returns the likeliest entities of a name, or all of them; none for an unknown one."""
    place, part = self._names.place(name), self._names.part(name)
    if place == NONE:
      return Candidates(np.zeros(0, np.int32), np.zeros(0, np.float32))
    ids, weights = np.asarray(self._names.ids[part]), np.asarray(self._weights[part])
    priors = self._linked[place] * weights / weights.sum()
    return Candidates(ids[:most], priors[:most])

  def evidence(self, name: str, id: int) -> list[Evidence]:
    """Returns places of the wiki where a name means an entity; none for what it is called."""
    of_one = np.asarray(self._evidence[self._names.part(name)])[self._names.ids_of(name) == id]
    places = of_one.reshape(-1, 3).tolist()
    return [Evidence(self.about(page).title, *rest) for page, *rest in places if page != NONE]

  def names_in(self, text: str) -> Iterator[Bounds]:
    """Yields the known names in a text from left to right, of those that overlap the longest."""
    return names_in(text, self._names.known)


@cached(4)
def open_knowledge(folder: str) -> Knowledge:
  """Returns the knowledge of a folder, opened once in a process."""
  if not folder:
    raise InputError(
      "task.knowledge: empty; expected a folder that luke-jax entities describe made, as --set"
      " task.knowledge=FOLDER, or a linker with its own: luke-jax linker --entities FILE makes one"
    )
  return Knowledge(Path(folder))


def write_knowledge(
  folder: Path,
  lines: Sequence[bytes],
  vectors: Iterable[np.ndarray],
  meanings: Meanings,
  facts: Mapping[str, Any],
) -> None:
  """Writes a folder of knowledge; `lines` are those of `lines_of`, each an entity.

  `vectors` are those of all entities in parts, which are in memory one after the other.
  """
  check_free(folder)
  folder.mkdir(parents=True, exist_ok=True)
  for part in filter(is_part, folder.iterdir()):  # of a process that was killed
    part.unlink()
  digest = hashlib.sha256()
  with whole(folder / ABOUT) as part, part.open("wb") as file:
    for line in lines:
      file.write(line)
      digest.update(line)
  save_array(folder / OFFSETS, np.cumsum([0, *map(len, lines)]))
  width = _save_vectors(folder / VECTORS, vectors, len(lines), digest)
  titles, items = zip(*map(_title_and_item, lines), strict=True) if lines else ((), ())
  with_item = [i for i, item in enumerate(items) if item]
  keys = np.array([*map(key_of, titles), *(key_of(items[i]) for i in with_item)], np.uint64)
  order = np.argsort(keys, kind="stable")
  save_array(folder / TITLES, keys[order])
  save_array(folder / TITLE_IDS, np.array([*range(len(lines)), *with_item], np.int32)[order])
  order = np.lexsort((meanings.ids, -meanings.weights, meanings.keys))
  keys, starts = np.unique(meanings.keys[order], return_index=True)
  ids, weights, evidence = (x[order] for x in (meanings.ids, meanings.weights, meanings.evidence))
  linked = np.maximum.reduceat(meanings.linked[order], starts)
  arrays = {NAMES: keys, STARTS: np.append(starts, len(order)), IDS: ids, LINKED: linked}
  for name, array in (arrays | {WEIGHTS: weights.astype(np.float32), EVIDENCE: evidence}).items():
    save_array(folder / name, array)
    digest.update(array.data)
  counts = {"entities": len(lines), "names": len(keys), "width": width}
  with whole(folder / MANIFEST) as part:  # last: without it there is no knowledge
    text = json.dumps(
      {**facts, **counts, "fingerprint": digest.hexdigest()}, ensure_ascii=False, indent=1
    )
    part.write_text(text + "\n", encoding="utf-8")


def _save_vectors(path: Path, parts: Iterable[np.ndarray], count: int, digest: Any) -> int:
  """Writes vectors as they come, and returns their width."""
  array, done = None, 0
  with whole(path) as part:
    for vectors in parts:
      if array is None:
        shape = (count, vectors.shape[1])
        array = np.lib.format.open_memmap(part, "w+", np.float16, shape)
      array[done : done + len(vectors)] = vectors
      digest.update(array[done : done + len(vectors)].data)
      done += len(vectors)
    if array is None or done != count:
      raise ValueError(f"{done} vectors of {count} entities")
    array.flush()
    return array.shape[1]


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
