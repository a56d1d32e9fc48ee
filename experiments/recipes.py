"""Settings of pretraining beside LUKE's, for the tiny LUKE of the sample wiki.

`python -m experiments.recipes results/recipes` trains each row with seeds 0 to 2, half an hour on
one core, and prints scores of dev, masked alike for all, and the processor's time of a step.
docs/pretraining.md makes `sample`. The rates have the least losses of a few, with seed 0.
"""

import statistics
import sys
import time
from pathlib import Path

import jax

from luke_jax.runs import training
from luke_jax.training.experiment import Experiment
from luke_jax.training.experiment_files import load_experiment
from luke_jax.training.mesh import make_mesh
from luke_jax.training.overrides import override, row
from luke_jax.training.program import Program

SEEDS, TIMED = (0, 1, 2), 50
SCORES = ("word_loss", "word_accuracy", "entity_loss", "entity_accuracy")
STAGES = ("word_stages=0.5,0.25,0.08", "entity_stages=0.9,0.6,0.2", "stage_steps=200")


def tiny() -> Experiment:
  """Returns 600 steps of the tiny LUKE."""
  experiment = load_experiment(Path(__file__).with_name("pretraining.py:tiny"))
  changes = "run.steps=600", "run.evaluate_every=null", "optimizer.learning_rate=6e-3"
  return override(experiment, changes)


ROWS = {
  "adamw": row(tiny),
  "wsd": row(tiny, "schedule.decay=wsd"),
  "falling-masks": row(tiny, *(f"task.masking.{stage}" for stage in STAGES)),
  "stable-adamw": row(tiny, "optimizer.kind=stable_adamw"),
  "muon": row(tiny, "optimizer.kind=muon", "optimizer.learning_rate=1e-2"),
}


def seconds(experiment: Experiment) -> float:
  """Returns the processor's time of a step."""
  program = Program(experiment, make_mesh(experiment.mesh, jax.devices()[:1]), TIMED)
  batches = program.training_batches(experiment.engine.records(program.backbone, "train"))
  batch, step = program.placed(batches(0)), program.step
  state, begun = program.fresh_state(), time.process_time()
  for _ in range(TIMED):
    state, _ = jax.block_until_ready(step(state, batch))
  return (time.process_time() - begun) / TIMED


if __name__ == "__main__":
  for name, chosen in ROWS.items():
    runs = [override(chosen.config(), [f"run.seed={seed}"]) for seed in SEEDS]
    ends = [training.run(x, Path(sys.argv[1], name, f"seed-{x.run.seed}")) for x in runs]
    cells = [[end[f"dev/{score}"] for end in ends] for score in SCORES]
    shown = [f"{statistics.mean(x):.3f} ± {statistics.stdev(x):.3f}" for x in cells]
    print(f"| {name} | {' | '.join(shown)} | {1e3 * seconds(runs[0]):.0f} ms |", flush=True)
