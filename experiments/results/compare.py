"""Experiments in pairs of a seed: `python -m experiments.results.compare FOLDER FOLDER`."""

import itertools
import statistics
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

from tyro.conf import Positional, arg

from experiments.results.table import read_results
from luke_jax.cli import script
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.runs.results import SeedResult

EXACT = 16  # pairs up to which all signs are tried


class Compared(NamedTuple):
  """An experiment beside the first one, over the seeds that all have; scores in percent."""

  name: str
  scores: tuple[float, ...]
  below: tuple[float, ...]  # differences from the first one, seed by seed
  chance: float | None  # None for the first one


def compare(scores: Mapping[str, Mapping[int, float]]) -> list[Compared]:
  """Returns the experiments beside the first, by the seeds that all of them have."""
  seeds = sorted(set.intersection(*map(set, scores.values())))
  if len(seeds) < 2:
    raise InputError(f"seeds: {len(seeds)} that all have; expected two or more, to compare")
  first, *_ = ([of_seed[seed] for seed in seeds] for of_seed in scores.values())
  rows = []
  for number, (name, of_seed) in enumerate(scores.items()):
    values = [of_seed[seed] for seed in seeds]
    below = [100 * (a - b) for a, b in zip(first, values, strict=True)]
    chance = chance_of(below) if number else None
    rows.append(Compared(name, tuple(100 * x for x in values), tuple(below), chance))
  return rows


def chance_of(differences: Sequence[float]) -> float:
  """Returns the share of all signs of the differences with a mean as far from 0.

  That of n pairs is never below 2 / 2**n: .25 for three of them.
  """
  if len(differences) > EXACT:
    raise InputError(f"seeds: {len(differences)}; expected at most {EXACT}, as all signs are tried")
  least = abs(sum(differences)) - 1e-9
  signs = itertools.product((1, -1), repeat=len(differences))
  sums = [abs(sum(s * x for s, x in zip(sign, differences, strict=True))) for sign in signs]
  return sum(x >= least for x in sums) / len(sums)


def comparison_table(rows: Sequence[Compared], metric: str) -> str:
  """Returns a Markdown table of compared experiments."""
  lines = [f"| | seeds | {metric} | below the first | p |", "| --- | --- | --- | --- | --- |"]
  for name, scores, below, chance in rows:
    spread = f"{statistics.mean(scores):.1f} ± {statistics.stdev(scores):.1f}"
    beside = "| | |" if chance is None else f"| {statistics.mean(below):.1f} | {chance:.3f} |"
    lines.append(f"| {name} | {len(scores)} | {spread} {beside}")
  return "\n".join(lines) + "\n"


def _by_seed(name: str, results: Sequence[SeedResult], split: str, metric: str) -> dict[int, float]:
  """Returns an experiment's scores by seed; each seed may occur once."""
  scores_by_seed: dict[int, float] = {}
  for result in results:
    scores = result.scores.get(split, {})
    if metric not in scores:
      measured = ", ".join(f"{split} {m}" for split, x in result.scores.items() for m in x)
      raise InputError(f"{name}: no {split} {metric}; expected one of {measured}")
    if result.seed in scores_by_seed:
      raise InputError(f"{name}: seed {result.seed} twice; expected the folder of one experiment")
    scores_by_seed[result.seed] = scores[metric]
  return scores_by_seed


def main(
  folders: Annotated[tuple[Path, ...], Positional, arg(metavar="FOLDER...")],
  /,
  *,
  split: str = "",
  metric: str = "",
) -> None:
  """Compares experiments with the first one, in pairs of a seed.

  p is the share of all ways to turn the signs of the differences around that give a mean as large.

      python -m experiments.results.compare results/aware results/original

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
  scores = {name: _by_seed(name, x, split, metric) for name, x in results.items()}
  print(comparison_table(compare(scores), metric), end="")


if __name__ == "__main__":
  sys.exit(script(main, "python -m experiments.results.compare"))
