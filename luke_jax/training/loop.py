"""The loop around the step, with all side effects of a run.

Each turn evaluates, saves, checks for preemption, takes a batch, steps and logs the step before.
The host waits for the device only to log, to evaluate and to save.
"""

import contextlib
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

from luke_jax.errors import InputError
from luke_jax.files import Path, program_folder, write_json
from luke_jax.pipeline.batches import Records, Rows, TrainingBatches
from luke_jax.training import directory, processes
from luke_jax.training.checkpoints import Checkpoints
from luke_jax.training.directory import Ledger
from luke_jax.training.experiment import Experiment, to_json, total_steps
from luke_jax.training.export import read_branch
from luke_jax.training.mesh import make_mesh
from luke_jax.training.metrics import MetricsWriter, read_numbers
from luke_jax.training.pace import LEAST_DEV, Pace, TimedPace
from luke_jax.training.program import Program, State
from luke_jax.training.progress import Progress, Shown, Trace
from luke_jax.training.scoring import metrics_of, predicted, seconds_to_score
from luke_jax.training.task import DEV, Params, Tree
from luke_jax.training.watch import Watch, watching

Summary = dict[str, Any]  # of a run: how it ended, its steps and its scores
COMPILED = "compiled"


def train(
  experiment: Experiment,
  folder: Path,
  start: Callable[[], Params] | None = None,
  *,
  data: Mapping[str, str] = MappingProxyType({}),
  profile: int = 0,
  begun: int | None = None,
  again: float = 0.0,
) -> Summary:
  """Runs an experiment, or resumes it from its folder; returns the summary.

  `start` reads the parameters of a new run; without it they are fresh. `data` has fingerprints, by
  name, of what the run reads, which may not change. A trace of `profile` steps is written. The time
  of the run counts from `begun` on, a `time.perf_counter_ns()`, and leaves time to read a share of
  dev, `again`, after its end.
  """
  ledger = Ledger()
  ledger.add_previous({"start": time.perf_counter_ns() - (begun or time.perf_counter_ns())})
  with contextlib.ExitStack() as stack:
    watch = stack.enter_context(watching())
    with ledger.part("start"):
      records = experiment.engine.records(experiment.backbone, "train")
      data = {**data, "records of train": str(len(records))}
      named = {f"the data: {name}": value for name, value in data.items()}
      processes.agree({"the experiment": to_json(experiment), **named})
      processes.from_first(lambda: directory.prepare(folder, experiment, data))
      keep_programs(folder)
      mesh = make_mesh(experiment.mesh)
      steps = total_steps(experiment.run, len(records), experiment.data.batch_size)
      program = Program(experiment, mesh, steps)
      checkpoints = Checkpoints(folder / directory.CHECKPOINTS, experiment.run)
      stack.callback(checkpoints.close)
      restored = checkpoints.restore(program.state_shapes)
      if restored is None:
        _check_evaluation(program)
        if experiment.run.branch:
          restored = read_branch(program, len(records), data)
      step, state = restored or (0, _first_state(program, start))
      done = ledger.read(folder) == step
    loop = _Loop(program, checkpoints, ledger, folder)
    loop.watch, loop.trace = watch, Trace(folder, step, profile)
    loop.pace = Pace(step) if done else _pace(program, ledger, step, again)
    return loop.run(step, state, program.training_batches(records))


def _pace(program: Program, ledger: Ledger, step: int, again: float) -> Pace:
  """Returns the pace of a run that begins or goes on with a step."""
  experiment = program.experiment
  run = experiment.run
  if run.minutes is None:
    return Pace(program.steps, run.evaluate_every)
  dev = len(experiment.engine.records(program.backbone, DEV)) if experiment.engine.scored else 0
  once = dev < LEAST_DEV
  return TimedPace(ledger, 60 * run.minutes, step, program.steps, once=once, again=again)


def _check_evaluation(program: Program) -> None:
  """Raises InputError before the first step for what the first evaluation would refuse later."""
  task, best = program.experiment.engine, program.experiment.run.best_metric
  if best and not task.scored:
    raise InputError("task.dev: empty; expected a file of examples, or run.best_metric=null")
  names = metrics_of(program, DEV) if task.scored else []
  if best and best not in names:
    raise InputError(f"run.best_metric: {best!r}; expected one of {', '.join(names)}")


def _first_state(program: Program, start: Callable[[], Params] | None) -> State:
  if start is None:
    if rank := program.experiment.optimizer.adapter:
      raise InputError(f"optimizer.adapter: {rank}; expected run.start, whose kernels would stay")
    return program.fresh_state()
  state, fresh = program.state_from(start())
  if fresh:
    warnings.warn(f"start: without {', '.join(fresh)}, which begin fresh", stacklevel=3)
  return state


class _Loop:
  """Part of a run that one process does."""

  def __init__(self, program: Program, checkpoints: Checkpoints, ledger: Ledger, folder: Path):
    self.program, self.checkpoints, self.ledger = program, checkpoints, ledger
    self.folder, self.options = folder, program.experiment.run
    self.task = program.experiment.engine
    self.first = jax.process_index() == 0
    self.waiting: list[tuple[int, dict[str, jax.Array]]] = []  # metrics that are not fetched yet
    self.scores: dict[str, float] = {}  # of the newest evaluation
    self.scored: int | None = None  # its step
    self.history: list[float] = []  # the best metric of all evaluations
    self.saved: int | None = None
    self.take_step: dict[int | None, jax.stages.Compiled] = {}
    self.pace: Pace
    self.watch: Watch
    self.trace: Trace

  def run(self, step: int, state: State, batches: TrainingBatches) -> Summary:
    """Trains from a step to the end or to a preemption."""
    self.saved, self.batches = step or None, batches
    self.scores = self.checkpoints.scores(step)
    self.scored = step if self.scores else None
    best = f"dev/{self.options.best_metric}"
    self.history = processes.from_first(lambda: read_numbers(self.folder, best, step))
    self.length = self.program.length(self.pace.steps)
    with (
      MetricsWriter(self.folder, start_step=step, enabled=self.first) as self.writer,
      Progress(self.pace.steps, step, enabled=self.first) as self.progress,
      self.trace,
    ):
      if step < self.pace.steps:
        with self.ledger.part("compile"):
          self._compile()
        if isinstance(self.pace, TimedPace) and self.task.scored:
          with self.ledger.part("evaluation"):
            splits = dict.fromkeys((self.task.choosing, DEV))
            self.pace.scoring(*(seconds_to_score(self.program, state, x) for x in splits))
      return self._turns(step, state)

  def _compile(self) -> None:
    """Compiles the steps, and what scores dev, so that no score waits for it."""
    program = self.program
    scored: tuple[int | None, ...] = ()
    if self.task.scored:
      dev = program.lengths(self.task.records(program.backbone, DEV))
      scored = dev.rooms if dev else (None,)
    self.programs = {room: program.padded_to(room) for room in self.batches.rooms}
    todo = [(padded, False) for padded in self.programs.values()]
    todo += [(program.padded_to(room), True) for room in scored]
    begun = time.perf_counter()
    for number, (padded, scores) in enumerate(todo):  # one by one, as XLA uses all cores for each
      self.progress.compiling(number, len(todo))
      _ = padded.compiled_predict if scores else padded.compiled_step
    self.take_step = {room: padded.compiled_step for room, padded in self.programs.items()}
    self.progress.compiled(len(todo), time.perf_counter() - begun)
    processes.meet()

  def _turns(self, step: int, state: State) -> dict[str, object]:
    first = step
    rows = self.batches.iterate(step, self.pace.most, self.program.experiment.data.workers)
    self.since = time.perf_counter()
    while True:
      # First, since an evaluation may take longer than who asks for the end will wait. The run that
      # goes on from here evaluates before it steps.
      leaving = self.watch.due(step)
      if self.pace.ready(step):
        self._plan(step)
      evaluated = not leaving and self._evaluate(step, state)
      leaving = leaving or (not evaluated and self.watch.due(step))  # in the midst of scoring
      better = evaluated and (step == first or self.checkpoints.better(self.scores))
      if self.scored == step and self._in_vain():
        self.pace = Pace(step)
      last = step == self.pace.steps
      if better or (step > first and (last or step % self.options.save_every == 0)):
        self._save(step, state)
      if leaving:
        if self.saved != step:
          self._save(step, state)
        return self._left(step)
      if last:
        return self._done(step, state)
      self.trace.at(step, state)
      room = self.batches.room(step)
      batch = self._batch(rows, self.programs[room])
      with self.ledger.part("step"):
        state, metrics = self.take_step[room](state, batch, self.length)
      self._log(step, metrics)
      step += 1

  def _plan(self, step: int) -> None:
    """Sets the number of steps by what was measured."""
    self._flush()
    self.pace.plan(step)
    self.length = self.program.length(self.pace.steps)
    self.progress.total = self.pace.steps

  def _in_vain(self) -> bool:
    """Returns whether as many scores as one has patience for were not better than the best."""
    patience, scores = self.options.patience, self.history
    return patience is not None and len(scores) > patience + scores.index(max(scores))

  def _batch(self, rows: Iterator[Rows], program: Program) -> dict[str, jax.Array]:
    with self.ledger.part("data"):
      return program.placed(next(rows))

  def _evaluate(self, step: int, state: State) -> bool:
    """Scores the dev split, if it is time and was not done; returns whether it was."""
    if not (step and self.task.scored and self.pace.due(step)) or self.scored == step:
      return False
    self._flush()
    begun = time.perf_counter()
    with self.ledger.part("evaluation"):
      records, outputs = predicted(self.program, state, self.task.choosing, self._is_asked_to_end)
      if outputs is None:
        return False
      self.scores, self.scored = self.task.score(records, outputs), step
      if self.checkpoints.better(self.scores):
        self._write_details(records, outputs)
    self.pace.scored(time.perf_counter() - begun)
    if best := self.options.best_metric:
      self.history.append(self.scores[best])
    self.writer.write(step, {f"dev/{name}": x for name, x in self.scores.items()})
    self.progress.note(f"step {step}: {_figures(self.scores)}")
    self.since = time.perf_counter()
    return True

  def _write_details(self, records: Records, outputs: Tree) -> None:
    details = self.task.details(records, outputs)
    if details and self.first:
      write_json(self.folder / directory.DEV, details)

  def _done(self, step: int, state: State) -> Summary:
    """Ends a run; where a part of dev chose the checkpoint, all of it is scored by that."""
    if self.task.scored and self.task.choosing != DEV:
      best, file = self.checkpoints.best or step, self.folder / directory.WHOLE
      kept = processes.from_first(lambda: directory.read_json(file) if file.is_file() else {})
      scores = kept["scores"] if kept.get("step") == best else self._whole(best, step, state)
      if scores is None:
        return self._left(step)
      self.scores = scores
    return self._finished(step, "done")

  def _whole(self, best: int, step: int, state: State) -> dict[str, float] | None:
    """Returns the scores of all of dev at a step; None if nobody needs them any more."""
    with self.ledger.part("evaluation"):
      if best != step:
        self.checkpoints.wait()
        state = self.checkpoints.read_params(best, self.program.state_shapes)
      records, outputs = predicted(self.program, state, DEV, self._is_asked_to_end)
      if outputs is None:
        return None
      scores = self.task.score(records, outputs)
      self._write_details(records, outputs)
    part = len(self.task.records(self.program.backbone, self.task.choosing))
    chosen = f"step {best}, chosen by {part:,} of {len(records):,} rows of dev"
    self.progress.note(f"{chosen}: {_figures(scores)} on all of them")
    if self.first:
      write_json(self.folder / directory.WHOLE, {"step": best, "scores": scores})
    return scores

  def _is_asked_to_end(self) -> bool:
    """Returns whether to leave a pass over dev, which several processes finish together."""
    return processes.alone() and self.watch.stop is not None

  def _save(self, step: int, state: State) -> None:
    self._flush()
    self.writer.flush()
    with self.ledger.part("checkpoint"):
      self.checkpoints.save(step, state, self.scores if self.scored == step else None)
    self.saved = step
    if self.first:
      self.ledger.write(self.folder)
    self.since = time.perf_counter()

  def _log(self, step: int, metrics: dict[str, jax.Array]) -> None:
    """Queues a step's metrics and, at every interval, writes those of the step before."""
    self.waiting.append((step, metrics))
    if len(self.waiting) > self.options.log_every:
      self._flush(keep=1)

  def _flush(self, keep: int = 0) -> None:
    """Fetches the metrics of all steps but the newest ones, and checks and logs them."""
    ready, self.waiting = (
      self.waiting[: len(self.waiting) - keep],
      self.waiting[len(self.waiting) - keep :],
    )
    if not ready:
      return
    with self.ledger.part("step"):
      fetched = [(step, jax.device_get(metrics)) for step, metrics in ready]
    self._check(fetched)
    step, metrics = fetched[-1]
    seconds = time.perf_counter() - self.since
    self.since = time.perf_counter()
    numbers = {name: float(x) for name, x in metrics.items() if name != "finite"}
    tokens = sum(float(m["tokens"]) for _, m in fetched) / seconds
    numbers["tokens_per_second"] = tokens
    self.writer.write(step + 1, numbers)
    figures = numbers["loss"], numbers["learning_rate"], tokens, self.ledger.share("data")
    score = self.history[-1] if self.history else None
    shown = Shown(*figures, self._padding(fetched), self.options.best_metric, score)
    self.progress.update(step + 1, shown)
    if self.first:
      self.ledger.write_wall(self.folder)

  def _padding(self, fetched: list[tuple[int, dict[str, jax.Array]]]) -> float | None:
    """Returns the share of padding in the words of these steps; None for rows without padding."""
    words = sum(self.programs[self.batches.room(step)].words for step, _ in fetched)
    return 1 - sum(float(metrics["tokens"]) for _, metrics in fetched) / words if words else None

  def _check(self, fetched: list[tuple[int, dict[str, jax.Array]]]) -> None:
    """Raises InputError for a loss that is not finite, unless the experiment allows for some."""
    bad = [step for step, metrics in fetched if not metrics["finite"]]
    if not bad or int(fetched[-1][1]["skipped"]) <= self.options.skip_bad_steps:
      return
    self.checkpoints.wait()
    ids = ", ".join(map(str, self.batches.record_ids(bad[-1])[:20]))
    good = f"step {self.saved}" if self.saved else "none"
    raise InputError(
      f"{self.folder}: the loss of step {bad[-1] + 1} is not finite (records {ids});"
      f" last good checkpoint: {good}; expected other data or settings in a new folder, or"
      f" run.skip_bad_steps={int(fetched[-1][1]['skipped'])} with the same command to go on"
    )

  def _left(self, step: int) -> dict[str, object]:
    """Waits for the checkpoint after a signal, and says how long after it that was whole."""
    assert self.watch.stop is not None
    summary = self._finished(step, self.watch.status)
    seconds = time.monotonic() - self.watch.stop["time"]
    self.progress.note(
      f"{self.watch.stop['signal']}: the checkpoint of step {step} was whole {seconds:.1f} s later;"
      f" the same command goes on from there"
    )
    return summary | {"seconds_to_leave": round(seconds, 3)}

  def _finished(self, step: int, status: str) -> Summary:
    self._flush()
    with self.ledger.part("checkpoint"):
      self.checkpoints.wait()
    if self.first:
      self.ledger.write(self.folder, step if status == "done" else None)
    seconds = {name: round(x, 3) for name, x in self.ledger.seconds.items()}
    scores = {f"dev/{name}": x for name, x in self.scores.items()}
    goodput = round(self.ledger.goodput, 4)
    self.progress.note(f"goodput {goodput:.1%}: share of {self.ledger.wall:,.0f} s spent in steps")
    entries = {"status": status, "step": step, "steps": self.pace.steps, "goodput": goodput}
    return entries | scores | {"seconds": seconds}


def _figures(scores: Mapping[str, float]) -> str:
  return ", ".join(f"{name} {x:.4g}" for name, x in scores.items())


def keep_programs(folder: Path) -> None:
  """Keeps a command's programs in the run's folder, where all hosts and the next start find them.

  A machine of one process with a CPU keeps them in the user's cache, which other runs share: the
  disks of TPU hosts end with them. So does one whose user named another place.
  """
  named = os.environ.get("JAX_COMPILATION_CACHE_DIR")
  cache = program_folder()
  if named != str(cache) or (processes.alone() and jax.default_backend() == "cpu"):
    return
  jax.config.update("jax_compilation_cache_dir", str(folder / COMPILED / cache.name))
  compilation_cache.reset_cache()
