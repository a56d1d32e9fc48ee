"""What the commands that time something leave: a file of every figure, and a last line."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from luke_jax.files import write_json


def tell(result: Any, summary: Mapping[str, Any], output: Path | None) -> None:
  """Writes the figures where they are wanted, and prints the summary."""
  if output:
    write_json(output, {**dataclasses.asdict(result), **summary})
  print(json.dumps(summary))
