"""`luke-jax experiment compare`."""

from typing import Annotated

from tyro.conf import Positional, arg

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.results import comparison
from luke_jax.results.records import read_results


def run(
  folders: Annotated[tuple[Path, ...], Positional, arg(metavar="FOLDER...")],
  /,
  *,
  split: str = "",
  metric: str = "",
) -> None:
  """Compares experiments with the first one, in pairs of a seed.

  p is the share of all ways to turn the signs of the differences around that give a mean as large.

      luke-jax experiment compare results/aware results/original

  Args:
    folders: Folders of luke-jax experiment run, one for each experiment.
    split: Split whose scores are compared; by default that of the first experiment in tables.
    metric: Metric that is compared; by default the first of the first result.
  """
  if len(folders) < 2:
    raise InputError(f"FOLDER: {len(folders)} given; expected two or more")
  results = {str(folder): read_results([folder]) for folder in folders}
  if len(results) < len(folders):
    raise InputError("FOLDER: one of them twice; expected different experiments")
  first = results[str(folders[0])][0]
  split = split or first.split
  metric = metric or next(iter(first.scores.get(split, {})), "metric")
  scores = {name: comparison.by_seed(name, x, split, metric) for name, x in results.items()}
  print(comparison.table(comparison.compare(scores), metric), end="")
