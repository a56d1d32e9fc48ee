"""Triples of head, relation and tail, from OpenKE's folders and from plain lines, by names' ids."""

import dataclasses
import functools
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, read_text, whole

SPLITS = ("train", "valid", "test")


class Ids(Sequence[str]):
  """Names by id; `of` has the ids by name."""

  def __init__(self, names: Sequence[str]):
    self._names = tuple(names)

  def __len__(self) -> int:
    return len(self._names)

  def __getitem__(self, id):
    return self._names[id]

  @functools.cached_property
  def of(self) -> dict[str, int]:
    """Returns the ids by name."""
    return {name: id for id, name in enumerate(self._names)}


def read_ids(path: Path) -> Ids:
  """Reads a count and lines of `name<TAB>id`, in any order; ids are 0 to count - 1, each once."""
  lines = read_text(path).rstrip().split("\n")
  count = lines[0].strip()
  if not count.isdecimal():
    raise InputError(f"{path}, line 1: {count!r:.40}; expected the number of names")
  if int(count) != len(lines) - 1:
    raise InputError(f"{path}, line 1: {count} names, but {len(lines) - 1} lines follow")
  names: list[str] = [""] * int(count)
  seen = set()
  for number, line in enumerate(lines[1:], start=2):
    name, _, id = line.rstrip("\r").rpartition("\t" if "\t" in line else " ")
    name, id = name.strip(), id.strip()
    if not name or not id.isdecimal() or int(id) >= len(names):
      expected = f"a name and an id below {len(names)}"
      raise InputError(f"{path}, line {number}: {line!r:.60}; expected {expected}")
    if names[int(id)] or name in seen:
      fault = f"the name {name!r}" if name in seen else f"the id {id}"
      raise InputError(f"{path}, line {number}: {fault} again; expected every one once")
    names[int(id)] = name
    seen.add(name)
  return Ids(names)


def write_ids(path: Path, ids: Sequence[str]) -> None:
  """Writes a count and lines of `name<TAB>id`."""
  with whole(path) as part, part.open("w", encoding="utf-8") as file:
    file.write(f"{len(ids)}\n")
    file.writelines(f"{name}\t{id}\n" for id, name in enumerate(ids))


@dataclasses.dataclass(frozen=True, eq=False)
class Graph:
  """Triples of ids by split, and the names of the ids."""

  entities: Ids
  relations: Ids
  splits: Mapping[str, np.ndarray]  # (triples, 3) int32: head, relation, tail

  @property
  def all(self) -> np.ndarray:
    """Returns the triples of all splits."""
    return np.concatenate(list(self.splits.values()))

  def split(self, name: str) -> np.ndarray:
    """Returns the triples of a split; raises InputError if the graph has none of that name."""
    if not len(self.splits.get(name, ())):
      raise InputError(f"{name}: no such triples; expected one of {', '.join(self.splits)}")
    return self.splits[name]


def read_graph(place: Path) -> Graph:
  """Reads a folder of OpenKE, a folder of train.txt, valid.txt and test.txt, or one plain file.

  OpenKE's files hold a count and lines of `head tail relation` as ids; plain ones lines of names,
  `head<TAB>relation<TAB>tail`, such as `Q42<TAB>P31<TAB>Q5`. Ids of plain names follow their order
  by code points. A triple that stands in a file more than once, as in OpenKE's WN11, is read once,
  with a warning. Raises InputError with file and line for unknown ids and wrong counts.
  """
  names, files = _files(place)
  return _open_ke(names, files) if names else _plain(files)


def graph_files(place: Path) -> list[Path]:
  """Returns the files that `read_graph` reads."""
  names, files = _files(place)
  return [*names, *files.values()]


def _files(place: Path) -> tuple[list[Path], dict[str, Path]]:
  """Returns the files of the names of OpenKE's ids, none for plain lines, and of the splits."""
  if place.is_file():
    return [], {"train": place}
  if not place.is_dir():
    raise InputError(f"{place}: no such folder or file; expected triples")
  for names, ending in ((("entity2id.txt", "relation2id.txt"), "2id.txt"), ((), ".txt")):
    files = {split: place / f"{split}{ending}" for split in SPLITS}
    if files["train"].is_file():
      there = {split: path for split, path in files.items() if path.is_file()}
      return [place / name for name in names], there
  raise InputError(f"{place}: neither train.txt nor train2id.txt; expected one of them")


def _open_ke(names: list[Path], files: Mapping[str, Path]) -> Graph:
  entities, relations = map(read_ids, names)
  sizes = len(entities), len(relations)
  splits = {split: _numbered(path, *sizes) for split, path in files.items()}
  return _checked(Graph(entities, relations, splits), files["train"].parent)


def _numbered(path: Path, entities: int, relations: int) -> np.ndarray:
  """Returns the triples of OpenKE's form, whose lines have the relation last."""
  lines = _lines(path)
  head = lines[0].strip() if lines else ""
  if not head.isdecimal():
    raise InputError(f"{path}, line 1: {head!r:.40}; expected the number of triples")
  if int(head) != len(lines) - 1:
    raise InputError(f"{path}, line 1: {head} triples, but {len(lines) - 1} lines follow")
  triples = np.empty((len(lines) - 1, 3), np.int32)
  sizes = (entities, entities, relations)
  for number, line in enumerate(lines[1:]):
    parts = line.split()
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
      raise InputError(f"{path}, line {number + 2}: {line!r:.60}; expected head, tail, relation")
    ids = tuple(map(int, parts))
    for id, size, kind in zip(ids, sizes, ("entity", "entity", "relation"), strict=True):
      if id >= size:
        raise InputError(f"{path}, line {number + 2}: unknown {kind} {id}; expected below {size}")
    triples[number] = ids[0], ids[2], ids[1]
  return _once(triples, path, first_line=2)


def _plain(files: Mapping[str, Path]) -> Graph:
  named = {split: _named(path) for split, path in files.items()}
  columns = [column for triples in named.values() for column in triples]
  entities = Ids(sorted({name for h, _, t in columns for name in (h, t)}))
  relations = Ids(sorted({relation for _, relation, _ in columns}))
  splits = {}
  for split, triples in named.items():
    rows = [(entities.of[h], relations.of[r], entities.of[t]) for h, r, t in triples]
    splits[split] = _once(np.array(rows, np.int32).reshape(-1, 3), files[split], first_line=1)
  return _checked(Graph(entities, relations, splits), files["train"])


def _named(path: Path) -> list[tuple[str, str, str]]:
  triples = []
  for number, line in enumerate(_lines(path), start=1):
    parts = tuple(part.strip() for part in line.split("\t"))
    if len(parts) != 3 or not all(parts):
      raise InputError(
        f"{path}, line {number}: {line!r:.60}; expected head, relation, tail by tabs"
      )
    triples.append(parts)
  return triples


def _lines(path: Path) -> list[str]:
  """Returns a file's lines, without empty ones at its end."""
  text = read_text(path)
  return text.rstrip().split("\n") if text.strip() else []


def _once(triples: np.ndarray, path: Path, first_line: int) -> np.ndarray:
  """Returns the triples without those that stand there again, with a warning of their number."""
  _, firsts = np.unique(triples, axis=0, return_index=True)
  if len(firsts) == len(triples):
    return triples
  again = np.ones(len(triples), bool)
  again[firsts] = False
  warnings.warn(
    f"{path}: {again.sum()} of {len(triples)} triples stand there again, first in line"
    f" {again.argmax() + first_line}; each is read once",
    stacklevel=2,
  )
  return triples[~again]


def _checked(graph: Graph, place: Path) -> Graph:
  if not len(graph.splits.get("train", ())):
    raise InputError(f"{place}: no triples to train on; expected one at least")
  return graph


def read_false(graph: Graph, path: Path) -> np.ndarray:
  """Reads false triples by name, `head<TAB>relation<TAB>tail`, such as CoDEx's hard negatives."""
  rows = []
  for number, triple in enumerate(_named(path), start=1):
    ids = [graph.entities.of.get(triple[0]), graph.relations.of.get(triple[1])]
    ids.append(graph.entities.of.get(triple[2]))
    if None in ids:
      name = triple[ids.index(None)]
      raise InputError(f"{path}, line {number}: unknown {name!r}; expected a name of the graph")
    rows.append(ids)
  return np.array(rows, np.int32).reshape(-1, 3)
