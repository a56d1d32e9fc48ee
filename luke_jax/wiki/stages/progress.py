"""What a person sees while stages run, on stderr."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from luke_jax.files import read_json
from luke_jax.wiki.stages.stage import Done, Engine, Stage, finish, finished, noted

_SECONDS = 0.5  # between two looks at the notes of the shards that are done
_UNITS = ("pages", "records")


class Watched:
  """Shows a bar for every stage that runs: shards, pages or records a second, time left.

  It looks at the notes that shards leave, so it sees the same whatever engine makes them.
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
  def doing(self, what: str) -> Iterator[None]:
    """Shows what is going on, for work that has no shards."""
    task = self._progress.add_task(what, total=1)
    self._say(what)
    yield
    self._progress.update(task, completed=1)

  def finish(self, stage: Stage, engine: Engine) -> Done:
    """The finished stage, watched if there is anything to do."""
    found = finished(stage)
    if found:
      self._say(f"{stage.name}: done before")
      return found
    self._say(f"{stage.name}: {stage.shards} shard{'s' if stage.shards > 1 else ''}")
    task = self._progress.add_task(stage.name, total=stage.shards, amount=0, unit="")
    over = threading.Event()
    watcher = threading.Thread(target=self._watch, args=(stage, task, over), daemon=True)
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
      for shard, path in noted(stage.folder).items():
        if shard not in amounts:
          amounts[shard] = read_json(path) or {}
      self._update(task, list(amounts.values()), stage.shards if last else len(amounts))
      if last:
        return

  def _update(self, task: Any, counts: list[dict], done: int) -> None:
    unit = next((unit for unit in _UNITS if any(unit in x for x in counts)), "")
    amount = sum(x.get(unit, 0) for x in counts)
    self._progress.update(task, completed=done, amount=amount, unit=unit)

  def _say(self, line: str) -> None:
    if not self._console.is_terminal:
      self._console.print(Text(line), soft_wrap=True)


class _Rate(ProgressColumn):
  def render(self, task: Task) -> Text:
    amount, seconds = task.fields.get("amount"), task.elapsed
    if not amount or not seconds:
      return Text("")
    return Text(f"{amount / seconds:,.0f} {task.fields['unit']}/s")
