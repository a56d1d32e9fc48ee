"""A stage of the build: a folder that a function fills shard by shard, once and only once.

A shard writes each of its files whole, then a note with its counts and their sizes. When every
shard has its note, the stage gets a manifest, and the notes are deleted. The key of a stage is a
hash of everything it is made of (inputs, options, version of the code). While a folder has a stage
with another key, the new one is made in a folder beside it, and takes its place when it is
finished.
"""

import contextlib
import dataclasses
import functools
import hashlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from luke_jax.errors import InputError
from luke_jax.files import Path, is_part, read_json, remove, sizes, write_json, written
from luke_jax.files.locks import LOCK
from luke_jax.pipeline.metadata import MANIFEST

BEGUN, NOTES = "begun.json", "notes"
PARTLY = "partly"  # the end of a note's name: counts of a shard that is being made, to display
_FAULT, _BESIDE = "fault", ".new"

Counts = dict[str, int]


class Work(Protocol):
  """A function that makes the files of a shard in a folder; a dataclass that can be pickled."""

  __dataclass_fields__: ClassVar[dict[str, dataclasses.Field]]

  @property
  def folder(self) -> Path:
    """The folder of the files."""
    ...

  def __call__(self, shard: int) -> Mapping[str, int]:
    """Makes the files and returns counts of what is in them."""
    ...


@dataclasses.dataclass(frozen=True)
class Stage:
  """A folder to make: its number of shards, the function for one, and its inputs.

  `made_of` holds everything that the bytes depend on, and `version` counts changes of the code.
  `by_shard` names its entry that has a value for each shard, in their order, if there is one: where
  such a value changes before the stage is finished, only that shard is made again.
  """

  folder: Path
  shards: int
  work: Work
  made_of: Mapping[str, Any]
  version: int = 1
  by_shard: str = ""

  @property
  def name(self) -> str:
    """The name of the folder."""
    return self.folder.name.removesuffix(_BESIDE)

  @property
  def key(self) -> str:
    """The hash of what the stage is made of."""
    return self._hash(self.made_of)

  @property
  def begun(self) -> str:
    """The hash of what all shards are made of, whatever each has beside it."""
    shared = {k: list(x) if k == self.by_shard else x for k, x in self.made_of.items()}
    return self._hash(shared)

  def source(self, shard: int) -> Any:
    """Returns what one shard alone is made of."""
    return self._sources[shard] if self.by_shard else None

  @functools.cached_property
  def _sources(self) -> Sequence[Any]:
    return tuple(self.made_of[self.by_shard].values())

  def _hash(self, made_of: Mapping[str, Any]) -> str:
    parts = [self.name, self.version, self.shards, made_of]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@dataclasses.dataclass(frozen=True)
class Done:
  """A finished stage: its key and the counts of every shard."""

  key: str
  shards: Sequence[Counts]
  fresh: bool  # made now and not by an earlier command

  @property
  def counts(self) -> Counts:
    """The sums over the shards, by name."""
    names = sorted({name for counts in self.shards for name in counts})
    return {name: sum(counts.get(name, 0) for counts in self.shards) for name in names}


class Engine(Protocol):
  """A way to run a function for every one of some shards, in any order and anywhere."""

  def __call__(self, run: Callable[[int], None], shards: Sequence[int]) -> None:
    """Runs the function for the shards and returns when all are made, or raises one's error."""
    ...


@dataclasses.dataclass(frozen=True)
class MakeShard:
  """The function that workers run: makes one shard of a stage and writes its note."""

  stage: Stage

  def __call__(self, shard: int) -> None:
    """Makes the shard unless it is made. An error that a user can correct is also written down."""
    notes = self.stage.folder / NOTES
    note, fault_note = notes / f"{shard}.json", notes / f"{shard}.{_FAULT}"
    if note.exists():
      return
    try:
      with written() as paths:
        counts = dict(self.stage.work(shard))
      start = f"{self.stage.folder.resolve()}/"
      files = {str(path).removeprefix(start): path.stat().st_size for path in paths}
      write_json(note, {"counts": counts, "files": files, "source": self.stage.source(shard)})
    except (InputError, OSError) as fault:
      with contextlib.suppress(OSError):  # a full disk has no room for this either
        write_json(fault_note, str(fault))
      raise
    fault_note.unlink(missing_ok=True)  # of an earlier try: engines may try again


def finish(stage: Stage, engine: Engine) -> Done:
  """Returns the finished stage, after its missing shards are made."""
  done = finished(stage)
  if done:
    return done
  folder, stage = stage.folder, under_way(stage)
  _begin(stage)
  made = _whole_shards(stage)
  missing = [shard for shard in range(stage.shards) if shard not in made]
  try:
    engine(MakeShard(stage), missing)
  finally:
    for path in sorted((stage.folder / NOTES).glob(f"*.{_FAULT}")):
      raise InputError(str(read_json(path)))
  done = _end(stage)
  if stage.folder != folder:
    _replace(folder, stage.folder)
  return done


def under_way(stage: Stage) -> Stage:
  """Returns the stage as it is made: beside its folder if that has another one, else in it."""
  if not (stage.folder / MANIFEST).exists():
    return stage
  folder = _beside(stage.folder)
  return dataclasses.replace(
    stage, folder=folder, work=dataclasses.replace(stage.work, folder=folder)
  )


def finished(stage: Stage) -> Done | None:
  """Returns the stage if its folder has its manifest and every file in its size, else None.

  A stage beside the folder that only has to take its place does so. One that was begun there while
  the folder has this one is deleted: most likely an option was changed by mistake.
  """
  beside = _beside(stage.folder)
  if _whole_manifest(beside):
    _replace(stage.folder, beside)
  manifest = _whole_manifest(stage.folder)
  if manifest is None or manifest.get("key") != stage.key:
    return None
  discard(beside)
  if (stage.folder / BEGUN).exists():
    _remove_notes(stage.folder)  # a kill left them
  return Done(stage.key, manifest["shards"], fresh=False)


def discard(folder: Path) -> None:
  """Deletes a stage, finished or not, if there is one."""
  if (folder / MANIFEST).exists() or (folder / BEGUN).exists():
    _remove(folder)


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


def check_same(stage: Stage) -> None:
  """Raises InputError for a folder that has another stage, which is not to be replaced.

  Nor is one that was finished and lost some of its files.
  """
  manifest = read_json(stage.folder / MANIFEST) or {}
  key, now = read_json(stage.folder / BEGUN), stage.begun
  if manifest:
    key, now = manifest.get("key"), stage.key
  if key not in (None, now):
    before = manifest.get("made_of", {})
    other = [name for name, value in stage.made_of.items() if value != before.get(name)]
    expected = "expected the same ones, or another folder"
    raise InputError(f"{stage.folder}: made with other {', '.join(other) or 'names'}; {expected}")
  there = sizes(stage.folder) if manifest else {}
  for name, size in manifest.get("files", {}).items():
    if there.get(name) != size:
      expected = "expected the file that was written, or another folder"
      raise InputError(f"{stage.folder / name}: changed or gone since it was made; {expected}")


def shard_notes(folder: Path, *ends: str) -> dict[int, Path]:
  """Returns the notes of the finished shards of a stage that is not finished, or other ones.

  Of one that finishes meanwhile, which deletes them, there are none.
  """
  try:
    files = [x for end in ends or ("json",) for x in (folder / NOTES).glob(f"*.{end}")]
  except FileNotFoundError:  # deleted between two looks of `glob`
    files = []
  return {int(path.stem): path for path in files if not is_part(path)}


def _whole_shards(stage: Stage) -> set[int]:
  """Returns the shards whose files have the sizes of their notes; deletes the other notes.

  A disk that lost its power may have lost what it had said to be written. Of a shard whose own
  source has changed since, the files go as well.
  """
  folder = stage.folder
  there, made = sizes(folder), set()
  for shard, path in sorted(shard_notes(folder).items()):
    note = read_json(path)
    files = (
      note["files"] if isinstance(note, dict) and "files" in note else {f"{NOTES}/{path.name}": 1}
    )
    lost = [name for name, size in files.items() if there.get(name) != size]
    if lost:
      actual = f"{there.get(lost[0], 0)} bytes; expected {files[lost[0]]}"
      warnings.warn(f"{folder / lost[0]}: {actual}: shard {shard} is made again", stacklevel=2)
      path.unlink()
    elif note.get("source") != stage.source(shard):
      for name in files:
        (folder / name).unlink()
      path.unlink()
    else:
      made.add(shard)
  return made


def _begin(stage: Stage) -> None:
  """Prepares the folder: only the finished shards of the very same stage stay in it."""
  folder = stage.folder
  begun = read_json(folder / BEGUN)
  if begun != stage.begun:
    others = (folder / name for name in sizes(folder) if name != LOCK)
    if folder.exists() and not all(map(is_part, others)):
      if begun is None and not (folder / MANIFEST).exists():
        raise InputError(f"{folder}: not a folder of this command; expected it empty or missing")
      _remove(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / BEGUN, stage.begun)
  (folder / NOTES).mkdir(exist_ok=True)  # a loss of power may have left the note alone
  odd = set(shard_notes(folder, _FAULT, PARTLY).values())
  for path in list(folder.rglob("*")):
    if is_part(path) or path in odd:
      path.unlink()


def _beside(folder: Path) -> Path:
  return folder.with_name(folder.name + _BESIDE)


def _replace(folder: Path, finished: Path) -> None:
  if folder.exists():
    _remove(folder)
  finished.rename(folder)


def _remove(folder: Path) -> None:
  # The manifest is deleted last but one and BEGUN last, so that what a kill in between leaves is
  # still known as a folder of this command.
  for path in folder.iterdir():
    if path.name not in (MANIFEST, BEGUN):
      remove(path) if path.is_dir() else path.unlink()
  remove(folder)


def _end(stage: Stage) -> Done:
  notes = shard_notes(stage.folder)
  shards = [read_json(notes[shard])["counts"] for shard in range(stage.shards)]
  done = Done(stage.key, shards, fresh=True)
  files = _sizes(stage.folder)
  made_of = {"key": stage.key, "version": stage.version, "made_of": stage.made_of}
  manifest = made_of | {"counts": done.counts, "shards": shards, "files": files}
  write_json(stage.folder / MANIFEST, manifest)
  _remove_notes(stage.folder)
  return done


def _remove_notes(folder: Path) -> None:
  remove(folder / NOTES)
  (folder / BEGUN).unlink(missing_ok=True)


def _whole_manifest(folder: Path) -> dict[str, Any] | None:
  """Returns a stage's manifest if every file has its size, else None."""
  manifest = read_json(folder / MANIFEST)
  files = manifest.get("files") if isinstance(manifest, dict) else None
  is_complete = isinstance(files, dict) and files.items() <= _sizes(folder).items()
  return manifest if is_complete else None


def _sizes(folder: Path) -> dict[str, int]:
  ours = (MANIFEST, BEGUN, LOCK)
  return {
    name: size
    for name, size in sizes(folder).items()
    if not name.startswith(f"{NOTES}/") and name not in ours and not is_part(folder / name)
  }
