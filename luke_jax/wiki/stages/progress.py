"""The progress of stages, shown on stderr."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Self

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from luke_jax.files import read_json
from luke_jax.terminal import Console
from luke_jax.wiki.stages.stage import Done, Engine, Stage, finish, finished, shard_notes, under_way

_SECONDS = 0.5  # between two looks at the notes of the shards that are done
_UNITS = ("pages", "records", "texts")


class StageProgress:
  """A display with a bar for every running stage: shards, pages or records a second, time left.

  It reads the notes that finished shards write, so it works with every engine.
  """

  def __init__(self, console: Console | None = None):
    self._console = console or Console(stderr=True)
    self._progress = Progress(
      TextColumn("{task.description:>12}"),
      BarColumn(),
      TextColumn("{task.completed:.0f}/{task.total:.0f} shards"),
      _Rate(),
      TimeRemainingColumn(),
      console=self._console,
      refresh_per_second=2,
    )

  def __enter__(self) -> Self:
    if self._console.is_terminal:
      self._progress.start()
    return self

  def __exit__(self, *fault: Any) -> None:
    if self._console.is_terminal:
      self._progress.stop()

  @contextlib.contextmanager
  def step(self, name: str) -> Iterator[None]:
    """Shows work that has no shards by its name, while the context lasts."""
    task = self._progress.add_task(name, total=1)
    self._print(name)
    yield
    self._progress.update(task, completed=1)

  def finish(self, stage: Stage, engine: Engine) -> Done:
    """Returns the finished stage, and shows its progress if there is anything to make."""
    done = finished(stage)
    if done:
      self._print(f"{stage.name}: done before")
      return done
    self._print(f"{stage.name}: {stage.shards} shard{'s' if stage.shards > 1 else ''}")
    task = self._progress.add_task(stage.name, total=stage.shards, amount=0, unit="")
    over = threading.Event()
    watcher = threading.Thread(target=self._watch, args=(under_way(stage), task, over), daemon=True)
    watcher.start()
    try:
      return finish(stage, engine)
    finally:
      over.set()
      watcher.join()

  def _watch(self, stage: Stage, task: Any, over: threading.Event) -> None:
    amounts: dict[int, dict] = {}
    while True:
      last = over.wait(_SECONDS)
      for shard, path in shard_notes(stage.folder).items():
        if shard not in amounts:
          amounts[shard] = (read_json(path) or {}).get("counts", {})
      notes = shard_notes(stage.folder, "partly").items()
      partly = [read_json(path) or {} for shard, path in notes if shard not in amounts]
      self._update(task, [*amounts.values(), *partly], stage.shards if last else len(amounts))
      if last:
        return

  def _update(self, task: Any, counts: list[dict], done: int) -> None:
    unit = next((unit for unit in _UNITS if any(unit in x for x in counts)), "")
    amount = sum(x.get(unit, 0) for x in counts)
    self._progress.update(task, completed=done, amount=amount, unit=unit)

  def _print(self, line: str) -> None:
    if not self._console.is_terminal:
      self._console.print(Text(line), soft_wrap=True)


class _Rate(ProgressColumn):
  def render(self, task: Task) -> Text:
    amount, seconds = task.fields.get("amount"), task.elapsed
    if not amount or not seconds:
      return Text("")
    return Text(f"{amount / seconds:,.0f} {task.fields['unit']}/s")
