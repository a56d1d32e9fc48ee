"""The experiments of the repository, by their rows."""

import runpy
from pathlib import Path

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
FILES = [path for path in sorted(EXPERIMENTS.glob("*.py")) if "\nROWS" in path.read_text("utf-8")]


def rows_of(name: str) -> list[Path]:
  """Returns FILE.py:ROW for each row of a table."""
  file = EXPERIMENTS / f"{name}.py"
  return [Path(f"{file}:{row}") for row in runpy.run_path(str(file))["ROWS"]]


def row_name(path: Path) -> str:
  """Returns the row of FILE.py:ROW."""
  return path.name.partition(":")[2]
