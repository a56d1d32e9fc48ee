"""Scores of experiments in pairs of a seed, and how likely their differences are by chance."""

import itertools
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from luke_jax.errors import InputError
from luke_jax.results.records import Result

EXACT = 16  # pairs up to which all signs are tried


class Compared(NamedTuple):
  """An experiment beside the first one, over the seeds that all have; scores in percent."""

  name: str
  scores: tuple[float, ...]
  below: tuple[float, ...]  # differences from the first one, seed by seed
  chance: float | None  # None for the first one


def by_seed(name: str, results: Sequence[Result], split: str, metric: str) -> dict[int, float]:
  """Returns an experiment's scores by seed; each seed may occur once."""
  found: dict[int, float] = {}
  for result in results:
    scores = result.scores.get(split, {})
    if metric not in scores:
      known = ", ".join(f"{split} {m}" for split, x in result.scores.items() for m in x)
      raise InputError(f"{name}: no {split} {metric}; expected one of {known}")
    if result.seed in found:
      raise InputError(f"{name}: seed {result.seed} twice; expected the folder of one experiment")
    found[result.seed] = scores[metric]
  return found


def compare(scores: Mapping[str, Mapping[int, float]]) -> list[Compared]:
  """Returns the experiments beside the first, by the seeds that all of them have."""
  seeds = sorted(set.intersection(*map(set, scores.values())))
  if len(seeds) < 2:
    raise InputError(f"seeds: {len(seeds)} that all have; expected two or more, to compare")
  first, *_ = ([own[seed] for seed in seeds] for own in scores.values())
  rows = []
  for number, (name, own) in enumerate(scores.items()):
    values = [own[seed] for seed in seeds]
    below = [100 * (a - b) for a, b in zip(first, values, strict=True)]
    chance = chance_of(below) if number else None
    rows.append(Compared(name, tuple(100 * x for x in values), tuple(below), chance))
  return rows


def chance_of(differences: Sequence[float]) -> float:
  """Returns how often differences of random signs have a mean as far from 0, over all signs.

  That of n pairs is never below 2 / 2**n: .25 for three of them.
  """
  if len(differences) > EXACT:
    raise InputError(f"seeds: {len(differences)}; expected at most {EXACT}, as all signs are tried")
  least = abs(sum(differences)) - 1e-9
  signs = itertools.product((1, -1), repeat=len(differences))
  sums = [abs(sum(s * x for s, x in zip(sign, differences, strict=True))) for sign in signs]
  return sum(x >= least for x in sums) / len(sums)


def table(rows: Sequence[Compared], metric: str) -> str:
  """Returns a Markdown table of compared experiments."""
  lines = [f"| | seeds | {metric} | below the first | p |", "| --- | --- | --- | --- | --- |"]
  for name, scores, below, chance in rows:
    spread = f"{statistics.mean(scores):.1f} ± {statistics.stdev(scores):.1f}"
    beside = "| | |" if chance is None else f"| {statistics.mean(below):.1f} | {chance:.3f} |"
    lines.append(f"| {name} | {len(scores)} | {spread} {beside}")
  return "\n".join(lines) + "\n"
