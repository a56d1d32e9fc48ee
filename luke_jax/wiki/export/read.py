"""Reads an exported folder: pages with what they are, and sentences with their links."""

from collections.abc import Iterator

from luke_jax.files import Path
from luke_jax.wiki.export import tables


def read_pages(
  folder: str | Path, *, text: bool = True, shard: int | None = None
) -> Iterator[tables.ExportedPage]:
  """Yields the pages of an exported folder, or of one of its files.

  Without `text` theirs is empty, and not read.
  """
  columns = [name for name in tables.COLUMNS["pages"] if text or name != "text"]
  several = [name for name, (kind, _) in tables.COLUMNS["pages"].items() if kind == "list<string>"]
  for row in tables.read_rows(Path(folder), "pages", columns, shard):
    for name in several:
      row[name] = tuple(row[name])
    row.setdefault("text", "")
    yield tables.ExportedPage(**row)


def read_sentences(
  folder: str | Path, *, linked: bool = False
) -> Iterator[tables.ExportedSentence]:
  """Yields the sentences of an exported folder; only those with links if `linked`."""
  for row in tables.read_rows(Path(folder), "sentences", list(tables.COLUMNS["sentences"])):
    if row["links"] or not linked:
      row["links"] = tuple([tables.ExportedLink(**link) for link in row["links"]])
      yield tables.ExportedSentence(**row)
