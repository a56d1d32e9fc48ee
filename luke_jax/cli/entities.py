"""`luke-jax entities add`."""

from typing import Annotated

import numpy as np
from tyro.conf import Positional, arg

from luke_jax.convert.loading import read_model
from luke_jax.convert.saving import save
from luke_jax.convert.text_side import add_entities
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.files.copies import local


def run(
  source: Annotated[Path, Positional, arg(metavar="SOURCE")],
  titles: Annotated[Path, Positional, arg(metavar="TITLES")],
  target: Annotated[Path, Positional, arg(metavar="TARGET")],
  /,
  *,
  vectors: Path | None = None,
  language: str | None = None,
) -> None:
  """Adds entities to a trained model's vocabulary.

  The vectors of the entities it had stay the same to the bit. The new ones start as copies of
  `[MASK]`, or from vectors.

      luke-jax entities add luke-base titles.txt luke-base-mine

  Args:
    source: Model directory to read.
    titles: Text file, one title a line.
    target: Model directory to write.
    vectors: NumPy file (.npy) with a row of the entity embedding's width for each title.
    language: Language of the titles, for a vocabulary of several languages.
  """
  if target.exists() and target.resolve() == source.resolve():
    raise InputError(f"{target}: the source; expected another directory")
  names = _titles(titles)
  rows = _vectors(vectors) if vectors else None
  model = add_entities(read_model(source), names, vectors=rows, language=language)
  save(model, target)
  total = model.backbone.entities
  print(f"{target}: {len(names)} entities added, ids {total - len(names)} to {total - 1}")


def _titles(path: Path) -> list[str]:
  try:
    lines = path.read_text(encoding="utf-8-sig").rstrip("\n").split("\n")
  except (OSError, UnicodeDecodeError) as fault:
    raise InputError(f"{path}: {fault}; expected a text file, one title a line") from None
  titles = [line.strip() for line in lines]
  if "" in titles:
    raise InputError(f"{path}: line {titles.index('') + 1} is empty; expected a title")
  return titles


def _vectors(path: Path) -> np.ndarray:
  try:
    array = np.load(local(path), allow_pickle=False)
  except (OSError, ValueError, EOFError) as fault:
    raise InputError(f"{path}: {fault}; expected an array in a .npy file") from None
  if not isinstance(array, np.ndarray):
    raise InputError(f"{path}: several arrays; expected one, in a .npy file")
  return array
