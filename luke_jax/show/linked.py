"""Linked entities in their text, with their neighbours in the knowledge graph's vectors."""

import html
from collections.abc import Sequence
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.graph.neighbours import most_similar
from luke_jax.graph.vectors import Vectors, open_vectors
from luke_jax.show.marked import html_text
from luke_jax.show.picture import Picture
from luke_jax.show.tables import bars
from luke_jax.tasks.evaluation import Mark
from luke_jax.text.alignment import checked_links


def linked(text: str, links: Sequence[Any], *, vectors: str | Path, count: int = 3) -> Picture:
  """Draws a text with its links, and for each entity those whose vectors are nearest to its own.

  `links` are (entity, start, end) or with a score, as a linker returns. An entity without a vector
  says so.
  """
  if count < 1:
    raise InputError(f"count: {count}; expected 1 or more")
  table = open_vectors(vectors)
  checked = checked_links(links, len(text), "links")
  marks = [Mark(link.start, link.end, link.entity) for link in checked]
  figures = []
  for name in dict.fromkeys(link.entity for link in checked):
    near = bars(_nearest(table, name, count)) if name in table.ids.of else "<p>no vector</p>"
    figures.append(f"<figure><h3>{html.escape(name)}</h3>{near}</figure>")
  note = '<p class="note">cosine similarity of the graph\'s vectors</p>' if figures else ""
  body = f'<p class="marked" dir="auto">{html_text(text, marks)}</p>{note}'
  return Picture(f'{body}<div class="side-by-side">{"".join(figures)}</div>', text[:60])


def _nearest(vectors: Vectors, name: str, count: int) -> list[tuple[str, float]]:
  rows, cosines = most_similar(vectors.table, vectors.rows([name])[0], count + 1)
  named = [(vectors.ids[row], float(x)) for row, x in zip(rows, cosines, strict=True)]
  return [pair for pair in named if pair[0] != name][:count]
