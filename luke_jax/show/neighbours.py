"""Entities with similar embeddings."""

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from luke_jax.errors import InputError
from luke_jax.show.picture import Picture
from luke_jax.show.tables import bars
from luke_jax.text.entity_vocab import SPECIAL

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
