"""Entities with similar vectors, of a model's embeddings or of a graph."""

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.graph.vectors import Vectors, most_similar, open_vectors
from luke_jax.show.marked import html_text
from luke_jax.show.picture import Picture, bars
from luke_jax.tasks.evaluation import Mark
from luke_jax.text.alignment import checked_links
from luke_jax.text.tokenizer import SPECIAL

if TYPE_CHECKING:
  from luke_jax.convert.parts import ModelParts


def nearest(model: "ModelParts", titles: Sequence[str], *, count: int = 5) -> Picture:
  """Shows the entities nearest to some, by the cosine of their embeddings.

  `titles` are those of the model's vocabulary, with a language before them if it has several.
  """
  tables = [
    f"<figure><h3>{html.escape(title)}</h3>{bars(near)}</figure>"
    for title, near in zip(titles, neighbours(model, titles, count), strict=True)
  ]
  note = '<p class="note">cosine similarity of entity embeddings</p>'
  return Picture(f'{note}<div class="side-by-side">{"".join(tables)}</div>', "Nearest entities")


def neighbours(
  model: "ModelParts", titles: Sequence[str], count: int
) -> list[list[tuple[str, float]]]:
  """Returns for each title the nearest others with their cosines, the nearest first."""
  if isinstance(titles, str) or count < 1:
    raise InputError(f"titles: {titles!r}, count: {count}; expected a list of titles, 1 or more")
  if model.processor is None or not model.backbone.entities:
    raise InputError("model: no titles of entities; expected a model with an entity vocabulary")
  vocab = model.processor.entity_vocab
  for title in titles:
    if title not in vocab.ids:
      raise InputError(f"title {title!r}: not in the model's vocabulary; expected one that is")
  table = np.asarray(model.entity_table, np.float32)[: len(vocab)]
  lengths = np.maximum(np.linalg.norm(table, axis=1), 1e-12)
  special = [vocab.ids[title] for title in SPECIAL if title in vocab.ids]
  nearest = []
  for id in (vocab.ids[title] for title in titles):
    cosines = table @ table[id] / (lengths * lengths[id])
    cosines[[*special, id]] = -np.inf
    best = [int(i) for i in np.argsort(-cosines)[:count] if np.isfinite(cosines[i])]
    nearest.append([(vocab.title(i), float(cosines[i])) for i in best])
  return nearest


def linked(text: str, links: Sequence[object], *, vectors: str | Path, count: int = 3) -> Picture:
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
