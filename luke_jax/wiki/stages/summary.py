"""The counts of a build, as numbers and as a table to print."""

from rich.table import Table

from luke_jax.wiki.stages.build import Result
from luke_jax.wiki.stages.packing import Limits

_DROPPED, _FAULT = "dropped: ", "fault: "
_PAGES = ("pages", "disambiguations", "redirects")
_REDIRECTS = ("redirects_in_loops", "redirects_too_long", "redirects_to_no_page", "titles_twice")


def figures(result: Result, limits: Limits) -> dict[str, float]:
  """Returns the counts of all stages by name, with the usual shares."""
  counts = {name: done.counts for name, done in result.stages.items()}
  pages, titles, vocabulary = counts["pages"], counts["titles"], counts["vocabulary"]
  records = counts["records"]
  links, room = vocabulary["links"] + counts["counts"]["links_to_no_page"], limits.room
  figures: dict[str, float] = {name: pages.get(name, 0) for name in _PAGES}
  figures |= {name: titles[name] for name in _REDIRECTS}
  figures |= {
    "links": links,
    "links_to_no_page": counts["counts"]["links_to_no_page"],
    "links_in_vocabulary": _share(vocabulary["links_in_vocabulary"], links),
    "entities_in_vocabulary": vocabulary["entities"],
    "records": records["records"],
    "sentences": records["sentences"],
    "words": records["words"],
    "entities": records["entities"],
    "unknown_entities": records["unknown_entities"],
    "mentions_cut": records["mentions_cut"],
    "fill": _share(records["words"], records["records"] * room),
  }
  rest = {**pages, **records}
  return figures | {name: rest[name] for name in rest if name.startswith((_DROPPED, _FAULT))}


def table(figures: dict[str, float]) -> Table:
  """Returns a table of the figures, with the reasons for drops and the faults of pages last."""
  table = Table("what", "", title="the build")
  table.columns[1].justify = "right"
  for name, value in figures.items():
    if value or not name.startswith((_DROPPED, _FAULT)):
      shown = f"{value:.1%}" if isinstance(value, float) else f"{value:,}"
      table.add_row(name.replace("_", " "), shown)
  return table


def _share(part: int, whole: int) -> float:
  return part / whole if whole else 0.0
