"""HTML report at the end of the demo."""

import json
import random
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from luke_jax import show
from luke_jax.demo import english, invented
from luke_jax.demo.running import LOGS, last_line
from luke_jax.demo.steps import FRESH, Step, result
from luke_jax.files import Path

JOINED = "\0"  # stands for a space at which a line must not be broken
COLUMNS = 80  # at most, in the lines of a command


class Score(NamedTuple):
  """A model's score on a test, in percent."""

  step: str
  model: str
  on: str
  metric: str
  score: float
  seconds: float  # of the step


def scores(folder: Path, seconds: Mapping[str, float]) -> list[Score]:
  """Returns the rows of the table of scores; `seconds` are those of the steps."""
  names = json.loads(last_line(folder / LOGS / "names.txt"))["f1"]
  relations = result(folder, "relations")["scores"]["test"]["accuracy"]
  first, fresh = (invented.typing_f1(folder, name) for name in ("typing", "typing" + FRESH))
  rows = [
    ("names", "english/ner, in the box", "120 sentences of CrossNER", "F1 of names", names),
    ("relations", "relations, trained here", "320 sentences of FewRel", "accuracy", relations),
    ("typing", "types, pretrained here", "an invented world", "loose micro F1", first),
    ("typing" + FRESH, "types, not pretrained", "an invented world", "loose micro F1", fresh),
  ]
  return [
    Score(step, model, on, metric, 100 * score, seconds[step])
    for step, model, on, metric, score in rows
  ]


def report(
  folder: Path, steps: Sequence[Step], seconds: Mapping[str, float], text: str
) -> show.Picture:
  """Returns the page on everything that the demo made; `text` is the user's, or empty."""
  sections = [
    *english.sections(folder, text, random.Random()),
    *invented.sections(folder),
    show.Section("What was run", _commands(steps, seconds), folded=True),
  ]
  introduction = (
    "Four small models read English here: three that come with luke_jax, and one that was trained"
    " while this page was made. All are adapters of MiniLM, a small BERT. The last part shows"
    " pretraining, on a world small enough to be read in a minute."
  )
  return show.report("luke_jax reads English", sections, introduction)


def _commands(steps: Sequence[Step], seconds: Mapping[str, float]) -> list[str | show.Picture]:
  commands = [
    f"# {step.title}: {seconds[step.name]:.0f} s\n{_on_lines(step.command)}" for step in steps
  ]
  return ["In the folder of the repository:", show.code("\n\n".join(commands))]


def _on_lines(command: str) -> str:
  """Returns a command broken into lines, with every option beside its value."""
  unbroken = re.sub(" (?!--)", JOINED, command)
  lines = textwrap.wrap(unbroken, COLUMNS, break_long_words=False, break_on_hyphens=False)
  return " \\\n  ".join(lines).replace(JOINED, " ")
