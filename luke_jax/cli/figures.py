"""Output of the commands that time something: a file of every figure, and a last line."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from luke_jax.files import Path, write_json


def write_figures(result: Any, summary: Mapping[str, Any], output: Path | None) -> None:
  """Writes the figures to the output file, if there is one, and prints the summary."""
  if output:
    write_json(output, {**dataclasses.asdict(result), **summary})
  print(json.dumps(summary))
