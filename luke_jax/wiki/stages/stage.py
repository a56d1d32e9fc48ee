"""A stage of the build: a folder that a function of one shard fills, done once and only once.

A shard writes its files whole and then a note of its counts. When every shard has its note, the
stage gets a manifest, and the notes go. What the stage is made of (inputs, options, version of the
code) has a key: a folder with another key is emptied before it is filled.
"""

import contextlib
import dataclasses
import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from luke_jax.errors import InputError
from luke_jax.files import is_part, read_json, write_json

MANIFEST, BEGUN, NOTES = "manifest.json", "begun.json", "notes"
_FAULT = "fault"

Counts = dict[str, int]
Work = Callable[[int], Mapping[str, int]]  # makes the files of a shard; can be pickled


@dataclasses.dataclass(frozen=True)
class Stage:
  """What is to be made: in which folder, of what, in how many shards, by which function.

  `made_of` holds all that the bytes depend on, and `version` counts changes of the code.
  """

  folder: Path
  shards: int
  work: Work
  made_of: Mapping[str, Any]
  version: int = 1

  @property
  def name(self) -> str:
    """The name of the folder."""
    return self.folder.name

  @property
  def key(self) -> str:
    """The hash of what the stage is made of."""
    parts = [self.name, self.version, self.shards, self.made_of]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@dataclasses.dataclass(frozen=True)
class Done:
  """A stage that is finished: its key and the counts of every shard."""

  key: str
  shards: Sequence[Counts]
  fresh: bool  # made now, not found

  @property
  def counts(self) -> Counts:
    """The sums over the shards, by name."""
    names = sorted({name for counts in self.shards for name in counts})
    return {name: sum(counts.get(name, 0) for counts in self.shards) for name in names}


class Engine(Protocol):
  """Runs a function for every shard that is given, in any order and anywhere."""

  def __call__(self, run: Callable[[int], None], shards: Sequence[int]) -> None:
    """Returns when every shard is made, or raises what went wrong with one."""
    ...


@dataclasses.dataclass(frozen=True)
class Shard:
  """Makes one shard of a stage and notes its counts; what travels to the workers."""

  stage: Stage

  def __call__(self, shard: int) -> None:
    """Makes the shard unless that is done. What a user can mend is noted before it is raised."""
    notes = self.stage.folder / NOTES
    note, noted_fault = notes / f"{shard}.json", notes / f"{shard}.{_FAULT}"
    if note.exists():
      return
    try:
      counts = dict(self.stage.work(shard))
      write_json(note, counts)
    except (InputError, OSError) as fault:
      with contextlib.suppress(OSError):  # a full disk has no room for this either
        write_json(noted_fault, str(fault))
      raise
    noted_fault.unlink(missing_ok=True)  # of an earlier try: engines may try again


def finish(stage: Stage, engine: Engine) -> Done:
  """The finished stage: as it was found, or after its missing shards are made."""
  found = finished(stage)
  if found:
    return found
  _begin(stage)
  missing = [shard for shard in range(stage.shards) if shard not in noted(stage.folder)]
  try:
    engine(Shard(stage), missing)
  finally:
    _tell_faults(stage.folder)
  return _end(stage)


def finished(stage: Stage) -> Done | None:
  """The stage if its folder has its manifest and every file in its size, else None."""
  manifest = read_json(stage.folder / MANIFEST)
  if not isinstance(manifest, dict) or manifest.get("key") != stage.key:
    return None
  if manifest["files"] != _sizes(stage.folder):
    return None
  return Done(stage.key, manifest["shards"], fresh=False)


def read_finished(folder: Path) -> Done:
  """Returns the stage that an earlier command has finished in a folder."""
  manifest = read_json(folder / MANIFEST)
  if not isinstance(manifest, dict) or not {"key", "shards"} <= manifest.keys():
    raise InputError(f"{folder}: no finished stage; expected a folder of luke-jax wiki build")
  return Done(manifest["key"], manifest["shards"], fresh=False)


def check_made_of(folder: Path, part: str) -> None:
  """Raises InputError if a finished stage was made of another state of the stage `part`."""
  read_finished(folder)
  if read_json(folder / MANIFEST)["made_of"][part] != read_finished(folder.parent / part).key:
    raise InputError(
      f"{folder}: made of other {part} than those in {folder.parent / part}; expected both of one"
      " run: run the command that makes it again"
    )


def noted(folder: Path) -> dict[int, Path]:
  """The notes of the shards that are done, in a stage that is not."""
  return {int(path.stem): path for path in (folder / NOTES).glob("*.json") if not is_part(path)}


def _begin(stage: Stage) -> None:
  """Leaves in the folder what earlier processes made of the very same stage, and nothing else."""
  folder = stage.folder
  begun = read_json(folder / BEGUN)
  if begun != stage.key:
    if folder.exists() and any(folder.iterdir()):
      if begun is None and not (folder / MANIFEST).exists():
        raise InputError(f"{folder}: not a folder of this command; expected it empty or missing")
      _remove(folder)
    (folder / NOTES).mkdir(parents=True)
    write_json(folder / BEGUN, stage.key)
  for path in [*folder.iterdir(), *(folder / NOTES).iterdir()]:
    if is_part(path) or path.suffix == f".{_FAULT}":
      path.unlink()


def _remove(folder: Path) -> None:
  # The manifest goes last but one and the mark last: a kill in between leaves a folder of ours.
  for path in folder.iterdir():
    if path.name not in (MANIFEST, BEGUN):
      shutil.rmtree(path) if path.is_dir() else path.unlink()
  shutil.rmtree(folder)


def _end(stage: Stage) -> Done:
  notes = noted(stage.folder)
  shards = [read_json(notes[shard]) for shard in range(stage.shards)]
  done = Done(stage.key, shards, fresh=True)
  files = _sizes(stage.folder)
  made_of = {"key": stage.key, "version": stage.version, "made_of": stage.made_of}
  manifest = made_of | {"counts": done.counts, "shards": shards, "files": files}
  write_json(stage.folder / MANIFEST, manifest)
  shutil.rmtree(stage.folder / NOTES)
  (stage.folder / BEGUN).unlink()
  return done


def _sizes(folder: Path) -> dict[str, int]:
  ours = (MANIFEST, BEGUN)
  return {
    path.name: path.stat().st_size
    for path in sorted(folder.iterdir())
    if path.is_file() and path.name not in ours and not is_part(path)
  }


def _tell_faults(folder: Path) -> None:
  """What a shard met that the user can mend, as one line, wherever the shard was made."""
  for path in sorted((folder / NOTES).glob(f"*.{_FAULT}")):
    raise InputError(str(read_json(path)))
