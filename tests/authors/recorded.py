"""Recorded inputs and outputs of the code of LUKE's authors, by file and case."""

import gzip
import json
from pathlib import Path
from typing import Any


def read(file: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
  """Returns the header of a file of cases, and the cases."""
  data = file.read_bytes()
  lines = (gzip.decompress(data) if file.suffix == ".gz" else data).splitlines()
  header, *cases = map(json.loads, lines)
  assert len(cases) == header["cases"]
  return header, cases


def unequal(cases: list[dict[str, Any]], equal: Any) -> list[str]:
  """Returns the ids of the cases whose outputs differ."""
  return [case["id"] for case in cases if not equal(case)]
