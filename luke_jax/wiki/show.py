"""Records of a build as text with their entities marked, and the counts of a build."""

import html
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rich.table import Table
from rich.text import Text

from luke_jax.errors import check_whole
from luke_jax.files import Path, write_text
from luke_jax.pipeline.metadata import METADATA
from luke_jax.pipeline.stored import Record, StoredRecords
from luke_jax.terminal import visible
from luke_jax.text import EntityVocab, Tokenizer, load_entity_vocab, load_tokenizer
from luke_jax.web_page import FOOT, head
from luke_jax.wiki.stages.build import RESULT, BuiltStages
from luke_jax.wiki.stages.packing import RecordLimits


class Stretch(NamedTuple):
  """Some text of a record: that of an entity, or that between two."""

  text: str
  title: str | None  # of the entity
  known: bool = True  # in the vocabulary


class ReadableRecord(NamedTuple):
  """A record as readable text, under a heading."""

  head: str
  stretches: list[Stretch]

  def as_text(self) -> Text:
    """Returns the record for the terminal."""
    text = Text(f"{self.head}\n", style="dim")
    for stretch in self.stretches:
      style = "" if stretch.title is None else "bold cyan" if stretch.known else "magenta"
      text.append(visible(stretch.text), style=f"not dim {style}".strip())
      if _needs_title(stretch):
        text.append(f" [{visible(stretch.title or '')}]", style="cyan")
    return text


def shown_records(folder: Path, number: int) -> list[ReadableRecord]:
  """Returns the first records of a folder that `luke-jax wiki build` made."""
  check_whole(1, **{"--n": number})
  if not (folder / METADATA).exists() and (folder / RESULT).is_dir():
    folder = folder / RESULT
  stored = StoredRecords(str(folder))
  number = min(number, len(stored))
  tokenizer, vocab = load_tokenizer(folder), load_entity_vocab(folder)
  return [_shown(place, stored[place], tokenizer, vocab) for place in range(number)]


def write_html(records: Sequence[ReadableRecord], path: Path, language: str | None = None) -> None:
  """Writes records as one page of HTML that needs no other file."""
  body = "\n".join(f"<h2>{html.escape(x.head)}</h2>\n<p>{_paragraph(x)}</p>" for x in records)
  write_text(path, f"{head('Records', language or 'en')}{body}\n{FOOT}")


def _shown(place: int, record: Record, tokenizer: Tokenizer, vocab: EntityVocab) -> ReadableRecord:
  page = "a page not in the vocabulary" if record.page_id < 0 else vocab.title(record.page_id)
  words, entities = len(record.word_ids), len(record.entity_ids)
  head = f"record {place}: {words} words, {entities} entities, from {page}"
  stretches, last = [], 0
  mentions = zip(record.entity_ids, record.mention_starts, record.mention_ends, strict=True)
  for id, start, end in mentions:
    stretches.append(Stretch(_decoded(tokenizer, record.word_ids[last:start]), None))
    text = _decoded(tokenizer, record.word_ids[start:end])
    space = len(text) - len(text.lstrip())
    stretches.append(Stretch(text[:space], None))
    stretches.append(Stretch(text[space:], vocab.title(int(id)), id != vocab.unknown_id))
    last = end
  stretches.append(Stretch(_decoded(tokenizer, record.word_ids[last:]), None))
  return ReadableRecord(head, [stretch for stretch in stretches if stretch.text])


def _decoded(tokenizer: Tokenizer, ids: np.ndarray) -> str:
  """Returns the text of some of a record's words, with the space before the first one."""
  special = tokenizer.special
  return tokenizer.decode([special.start, *ids]).removeprefix(special.roles.start)


def _needs_title(stretch: Stretch) -> bool:
  return stretch.title is not None and stretch.known and stretch.title != stretch.text


def _paragraph(record: ReadableRecord) -> str:
  parts = []
  for stretch in record.stretches:
    text = html.escape(stretch.text)
    if stretch.title is None:
      parts.append(text)
      continue
    title = html.escape(stretch.title)
    after = f" <small>{title}</small>" if _needs_title(stretch) else ""
    kind = "" if stretch.known else ' class="unknown"'
    parts.append(f'<mark{kind} title="{title}">{text}{after}</mark>')
  return "".join(parts)


_MENTIONS, _DROPPED, _FAULT = "mentions: ", "dropped: ", "fault: "
_PAGES = ("pages", "disambiguations", "redirects")
_REDIRECTS = ("redirects_in_loops", "redirects_too_long", "redirects_to_no_page", "titles_twice")


def figures(result: BuiltStages, limits: RecordLimits) -> dict[str, float]:
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
  rest = {**counts.get("texts", {}), **pages, **records}
  shown = (_MENTIONS, _DROPPED, _FAULT)
  return figures | {name: rest[name] for name in rest if name.startswith(shown)}


def figures_table(figures: dict[str, float]) -> Table:
  """Returns a table of the figures, with the reasons for drops and the faults of pages last."""
  table = Table("what", "", title="the build")
  table.columns[1].justify = "right"
  for name, value in figures.items():
    if value or not name.startswith((_DROPPED, _FAULT)):
      shown = f"{value:.1%}" if isinstance(value, float) else f"{value:,}"
      table.add_row(name.replace("_", " "), shown)
  return table


def _share(part: int, total: int) -> float:
  return part / total if total else 0.0
