"""Stage `titles`: the table of all titles, each with the page that it leads to."""

import dataclasses
import functools
from collections.abc import Iterator, Mapping

import numpy as np

from luke_jax.files import Path
from luke_jax.files.copies import local
from luke_jax.wiki.stages.files import save_array
from luke_jax.wiki.stages.page_stage import Shards, Title
from luke_jax.wiki.stages.string_table import StringTable, write_string_table

NOWHERE = -1
HOPS = 10  # the longest chain of redirects that is followed
_TARGETS, _PAGE_IDS = "targets.npy", "page_ids.npy"


class Titles:
  """All titles of a wiki by number, each with the page it leads to; small when pickled."""

  def __init__(self, folder: Path):
    self.folder = folder
    self.table = StringTable(folder)
    self.targets = np.load(local(folder / _TARGETS), mmap_mode="r")
    """The number of the page for each title: its own, that at the end of its redirects, or -1."""

  @functools.cached_property
  def page_ids(self) -> np.ndarray:
    """The id of the page with each title, its redirect's own where it is one; int64."""
    return np.load(local(self.folder / _PAGE_IDS), mmap_mode="r")

  def __reduce__(self):
    return Titles, (self.folder,)

  def __len__(self) -> int:
    return len(self.table)

  def page(self, title: str) -> int:
    """Returns the number of the page that a title leads to, -1 if there is none."""
    index = self.table.index(title)
    return index if index == NOWHERE else int(self.targets[index])


@dataclasses.dataclass(frozen=True)
class MakeTitles:
  """The function of the only shard: makes the whole table, because any title may lead to any."""

  folder: Path
  shards: Shards

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Writes the table, and returns the counts of titles and of redirects that lead nowhere."""
    write_string_table(self.folder, (title.title for title in self._titles()))
    table = StringTable(self.folder)
    direct, ids = np.full(len(table), NOWHERE, np.int32), np.zeros(len(table), np.int64)
    twice = to_itself = 0
    for place, title in enumerate(self._titles()):
      index, ids[place] = table.index(title.title), title.id
      if index != place:  # a title that occurs twice: the first page counts
        twice += 1
        continue
      direct[index] = index if title.redirect is None else table.index(title.redirect)
      if title.redirect is not None and direct[index] == index:  # or it would look like a page
        to_itself += 1
        direct[index] = NOWHERE
    targets, faults = resolved(direct)
    save_array(self.folder / _TARGETS, targets)
    save_array(self.folder / _PAGE_IDS, ids)
    faults["redirects_in_loops"] += to_itself
    faults["redirects_to_no_page"] -= to_itself + twice  # these lead nowhere on purpose
    return {"titles": len(table), "titles_twice": twice, **faults}

  def _titles(self) -> Iterator[Title]:
    for shard in range(len(self.shards)):
      yield from self.shards.read_names(shard).titles


def resolved(direct: np.ndarray) -> tuple[np.ndarray, dict[str, int]]:
  """Returns the page at the end of each title's redirects, and how many have none, by reason.

  `direct` has the title that each leads to, which for a page is its own; -1 stands for none.
  """
  targets = direct
  for _ in range(HOPS - 1):
    targets = _followed(direct, targets)
  unfinished = (targets != NOWHERE) & (_followed(direct, targets) != targets)
  ends = direct
  for _ in range(len(direct).bit_length()):  # each time twice as far
    ends = _followed(ends, ends)
  loops = (ends != NOWHERE) & (_followed(direct, ends) != ends)
  faults = {
    "redirects_in_loops": int(loops.sum()),
    "redirects_too_long": int((unfinished & ~loops).sum()),
    "redirects_to_no_page": int((targets == NOWHERE).sum()),
  }
  return np.where(unfinished, NOWHERE, targets).astype(np.int32), faults


def _followed(steps: np.ndarray, places: np.ndarray) -> np.ndarray:
  return np.where(places == NOWHERE, NOWHERE, steps[places])
