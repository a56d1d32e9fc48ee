"""Results of a benchmark, printed and written: tables, a line on the machine, JSON."""

import dataclasses
import json
from collections.abc import Iterable
from typing import Any

from rich.table import Table

from luke_jax.files import Path, write_json
from luke_jax.models.system import Backbone, TokenCounts
from luke_jax.terminal import Console
from luke_jax.training.loop import Summary


def print_figures(
  result: Any, summary: Summary, tables: Iterable[Table], about: str, *, output: Path | None
) -> None:
  """Prints tables of figures, a line about the machine, and a summary; writes them to a file."""
  console = Console()
  for table in tables:
    console.print(table)
  console.print(about, soft_wrap=True)
  if output:
    write_json(output, {**dataclasses.asdict(result), **summary})
  print(json.dumps(summary))


def encoder_flops(backbone: Backbone, *, sequences: int, words: int, entities: int) -> float:
  """Returns the operations of a forward pass; padding counts, all pairs of tokens attend."""
  counts = TokenCounts(sequences, words, entities)
  products = backbone.config.products(counts)
  return products[""] + products[f"{backbone.config.name}/encoder"]
