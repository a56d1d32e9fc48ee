"""Programs that tests share: those of equal experiments are traced and compiled once a process.

Tracing and compiling take nearly all the time of a tiny training. What a program computes does not
depend on where its run is kept, how often it is scored, or what it is scored on.
"""

import dataclasses
from typing import Any

from luke_jax.training.experiment import Run
from luke_jax.training.program import Program

MOST = 12  # programs that are kept, as each holds its executables
NOT_COMPILED = {"train": "", "dev": "", "test": "", "sampled": 1.0}  # fields of tasks

_kept: dict[Any, Program] = {}


def forget() -> None:
  """Drops all programs that are kept."""
  _kept.clear()


class SharedProgram(Program):
  """A Program whose compiled functions are those of an equal one, if there was any."""

  @property
  def _twin(self) -> Program:
    chosen = self.experiment
    fields = {field.name for field in dataclasses.fields(chosen.task)}
    task = dataclasses.replace(
      chosen.task, **{name: x for name, x in NOT_COMPILED.items() if name in fields}
    )
    run = Run(steps=1, seed=chosen.run.seed, accumulation=chosen.run.accumulation)
    key = dataclasses.replace(chosen, task=task, run=run), self.mesh
    twin = _kept.pop(key, None) or Program(chosen, self.mesh, self.steps)
    _kept[key] = twin  # the newest last
    for oldest in list(_kept)[:-MOST]:
      del _kept[oldest]
    return twin

  @property
  def state_shapes(self):
    return self._twin.state_shapes

  @property
  def compiled_step(self):
    return self._twin.compiled_step

  @property
  def _compiled_fresh(self):
    return self._twin._compiled_fresh

  @property
  def _compiled_first(self):
    return self._twin._compiled_first

  @property
  def compiled_predict(self):
    return self._twin.compiled_predict

  @property
  def _predict(self):
    return self._twin._predict
