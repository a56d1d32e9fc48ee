"""Pages of a build by title."""

import functools
from urllib.parse import unquote

import numpy as np

from luke_jax.files import Path
from luke_jax.wiki.read.pages import Page, page_from_bytes
from luke_jax.wiki.stages.files import open_records
from luke_jax.wiki.stages.page_stage import shard_path, shards_of
from luke_jax.wiki.stages.stage import check_made_of, read_finished
from luke_jax.wiki.stages.title_stage import NOWHERE, Titles


class BuiltPages:
  """A reader of single pages of a build. The titles of a few shards stay in memory."""

  def __init__(self, folder: Path):
    check_made_of(folder / "titles", "pages")
    done = read_finished(folder / "pages")
    self._shards = shards_of(folder / "pages", done)
    self._titles = Titles(folder / "titles")
    # The titles' table numbers the titles of all shards in their order, redirects included.
    sizes = [shard["pages"] + shard["redirects"] for shard in done.shards]
    self._starts = np.cumsum([0, *sizes])
    self._records = functools.lru_cache(maxsize=8)(self._records_of)

  def page(self, title: str) -> Page | None:
    """Returns the page that a title leads to, or None; the title may be as in a web address."""
    number = self._titles.page(unquote(title).replace("_", " "))
    if number == NOWHERE:
      return None
    shard = int(np.searchsorted(self._starts, number, side="right")) - 1
    record = int(self._records(shard)[number - self._starts[shard]])
    path = shard_path(self._shards.folder, "pages", shard, len(self._shards))
    reader = open_records(path, self._shards.pages[shard])
    data = reader.read([record])[0]
    reader.close()
    return page_from_bytes(data)

  def _records_of(self, shard: int) -> np.ndarray:
    """Returns the number of the record of each title in a shard; redirects have none."""
    pages = [title.redirect is None for title in self._shards.read_names(shard).titles]
    return np.cumsum(pages) - 1
