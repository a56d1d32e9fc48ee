"""MiniLM read as a LUKE: names that are settled first, and read as their entities by the rest.

    luke-jax entities describe TABLES --output knowledge --examples 40000
    python experiments/linkers/settled.py knowledge runs/settled --steps 400 --seeds 0 1 2

Prints a line for each linker, seed and number of passes over a row in which its names are settled.
"""

import argparse
import dataclasses
import json
import time
from typing import Any

import luke_jax
from luke_jax.convert.published import published
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.heads.linking import LinkingHead
from luke_jax.inference.batches import outputs, shapes_of
from luke_jax.inference.settings import processor_of
from luke_jax.models.network import Network
from luke_jax.runs.recipes import task_experiment
from luke_jax.runs.training import run
from luke_jax.systems.luke import LukeConfig
from luke_jax.tasks.linking.task import EntityLinking
from luke_jax.tasks.running import checked

PASSES = (0, 2, 16)  # at once, the surest half first, one of a row's names after the other
LINKERS: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
  "names by themselves": ({"rounds": 0}, (0,)),
  "a round": ({"rounds": 1}, (0,)),
  "settled": ({"rounds": 0, "steps": 10}, PASSES),
  "settled, a round": ({"rounds": 1, "steps": 10}, PASSES),
}


def scores(folder: Path, knowledge: Path, steps: int, tested: int) -> dict[str, float]:
  """Returns the scores on dev of a trained linker that settles names in so many passes."""
  model = luke_jax.load(folder / "model")
  head: Any = model.network.head
  model = dataclasses.replace(model, network=Network(model.backbone, head.clone(steps=steps)))
  task = EntityLinking(knowledge=str(knowledge), words=128, entities=16)
  examples = checked(task, task.read(knowledge / "dev.jsonl", Faults()), Faults())[:tested]
  processor = processor_of(model, task)
  rows = task.features(processor, examples)
  found = outputs(model, task, rows, processor.entity_vocab.pad_id, shapes_of(model.backbone))
  return dict(task.evaluate(examples, task.decode(examples, rows, found)).scores)


def main() -> None:
  """Trains each linker with each seed, and scores it in each number of passes."""
  parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  parser.add_argument("knowledge", type=Path)
  parser.add_argument("output", type=Path)
  parser.add_argument("--steps", type=int, default=400)
  parser.add_argument("--tested", type=int, default=None, help="paragraphs of dev; all")
  parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
  parser.add_argument("--linkers", nargs="+", choices=list(LINKERS), default=list(LINKERS))
  options = parser.parse_args()
  knowledge, steps = options.knowledge, options.steps
  files = str(knowledge / "train.jsonl"), ""
  for seed in options.seeds:
    for name in options.linkers:
      fields, passes = LINKERS[name]
      folder, begun = options.output / f"{name}-{seed}".replace(", ", "-"), time.time()
      changes = [f"task.{field}={value}" for field, value in fields.items()]
      changes += [f"task.knowledge={knowledge}", "task.words=128", "task.entities=16"]
      changes += [f"run.steps={steps}", "run.epochs=null", f"run.seed={seed}"]
      changes += [f"run.save_every={steps}", "task.held_out=0"]
      experiment = task_experiment(
        LinkingHead.kind, files, published("english"), changes, system=LukeConfig
      )
      run(experiment, folder)
      seconds = round(time.time() - begun)
      for number in passes:
        found = {
          x: round(y, 4) for x, y in scores(folder, knowledge, number, options.tested).items()
        }
        line = {"linker": name, "seed": seed, "passes": number, **found, "seconds": seconds}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
  main()
