"""Entities whose vectors are nearest: `python -m experiments.neighbours VECTORS NAME`."""

import sys
from typing import Annotated, Literal

from rich.table import Table
from tyro.conf import Positional, arg

from luke_jax.cli import script
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.graph.vectors import folder_norm, nearest, open_vectors
from luke_jax.terminal import Console


def main(
  vectors: Annotated[Path, Positional, arg(metavar="VECTORS")],
  name: Annotated[str, Positional, arg(metavar="NAME")],
  /,
  *,
  relation: str | None = None,
  count: int = 10,
  norm: Literal[1, 2] | None = None,
) -> None:
  """Prints the entities nearest to one, or those that a relation leads to from it.

      python -m experiments.neighbours runs/codex-s/vectors Q42 --relation P31

  Args:
    vectors: Folder of the vectors.
    name: An entity, such as Q42.
    relation: Entities are listed that make the triple name, relation, entity most likely true.
    count: Number of entities.
    norm: Norm of the distance; by default the one the vectors were trained with, or 1.
  """
  if count < 1:
    raise InputError(f"--count: {count}; expected 1 or more")
  entities = open_vectors(vectors)
  query = entities.rows([name])[0]
  if relation is not None:
    query = query + open_vectors(vectors, "relation").rows([relation])[0]
  rows, distances = nearest(entities.table, query, count + 1, norm or folder_norm(vectors) or 1)
  table = Table("entity", "distance")
  others = ((entities.ids[row], x) for row, x in zip(rows, distances, strict=True))
  for entity, distance in [pair for pair in others if pair[0] != name][:count]:
    table.add_row(entity, f"{distance:.4f}")
  Console().print(table)


if __name__ == "__main__":
  sys.exit(script(main, "python -m experiments.neighbours"))
