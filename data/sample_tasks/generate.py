"""Writes the sets of the tasks: python -m data.sample_tasks.generate [FOLDER]."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from ..sample_wiki.world import World, read_world
from . import (
  make_classification,
  make_cloze,
  make_facts,
  make_ner,
  make_qa,
  make_relations,
  make_typing,
)
from .narrator import DEV, SPLITS, TRAIN, Case, Narrator
from .types import FOLDER

Draw = Callable[[Narrator, Case], dict | None]
DRAWS: dict[str, Draw] = {
  "typing": make_typing.draw,
  "relations": make_relations.draw,
  "ner": make_ner.draw,
  "cloze": make_cloze.draw,
  "qa": make_qa.draw,
  "classification": make_classification.draw,
  "facts": make_facts.draw,
}
SIZES = {
  "typing": (2400, 120, 240),
  "relations": (2400, 120, 240),
  "ner": (600, 40, 80),
  "cloze": (800, 100, 200),
  "qa": (1000, 100, 200),
  "classification": (720, 80, 160),
  "facts": (300, 40, 80),
}
UNANSWERABLE = {TRAIN: 75, DEV: 15}


def examples(world: World, task: str) -> dict[str, list[dict]]:
  """The examples of each file, by the file's name; no text comes twice."""
  texts: set[str] = set()
  files = {
    split: drawn(Narrator(world, task, split), DRAWS[task], size, texts)
    for split, size in zip(SPLITS, SIZES[task], strict=True)
  }
  for split, size in UNANSWERABLE.items() if task == "qa" else ():
    narrator = Narrator(world, task, split)
    files[f"{split}_unanswerable"] = drawn(narrator, make_qa.draw_unanswerable, size, texts)
  return {
    name: [{"id": f"{name}-{number}", **example} for number, example in enumerate(found, start=1)]
    for name, found in files.items()
  }


def drawn(narrator: Narrator, draw: Draw, size: int, texts: set[str]) -> list[dict]:
  """So many examples of a split, a fifth of dev and test about what no page names."""
  held_out = narrator.split != TRAIN
  found: list[dict] = []
  while len(found) < size:
    number = len(found)
    case = Case(
      number,
      unseen=held_out and number % 5 == 4,
      implied=number % 10 == 3,
      long=held_out and number % 14 == 7,
      easy=number % 4 != 2,
    )
    example = draw(narrator, case)
    if example and example["text"] not in texts:
      texts.add(example["text"])
      unseen = {"unseen": True} if case.unseen else {}
      found.append({**example, "meta": {**example["meta"], **unseen}})
  return found


def write(path: Path, lines: list[dict]) -> None:
  """Writes objects, one a line."""
  text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
  path.parent.mkdir(parents=True, exist_ok=True)
  path.write_text(text, encoding="utf-8")


def main(folder: Path = FOLDER) -> None:
  """Writes everything into a folder."""
  world = read_world()
  for task in DRAWS:
    for name, lines in examples(world, task).items():
      write(folder / task / f"{name}.jsonl", lines)
      if task == "ner":
        columns = make_ner.column_text(lines)
        (folder / task / f"{name}.conll").write_text(columns, encoding="utf-8")


if __name__ == "__main__":
  main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
