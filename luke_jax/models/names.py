"""Names of a system's tensors in the files of other programs, read both ways."""

import dataclasses
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
  from luke_jax.models.system import System

Readers = Mapping[str, Callable[[], np.ndarray]]  # of tensors, by their names


class OtherNames(Protocol):
  """Names of a system's tensors in the files of another program, which may join or turn them."""

  @property
  def name(self) -> str:
    """Returns the name by which a user asks for such files."""
    ...

  @property
  def vocabulary(self) -> str:
    """Returns the file of words that has to be added, for theirs are not read; "" for none."""
    ...

  def fits(self, names: Iterable[str]) -> bool:
    """Returns true if a file's names are of this kind."""
    ...

  def read(self, theirs: Readers) -> Readers:
    """Returns a reader for each tensor of a file, under the reference's names."""
    ...

  def write(
    self, tensors: Iterable[tuple[str, np.ndarray]], config: "System"
  ) -> Iterator[tuple[str, np.ndarray]]:
    """Yields the tensors of a model of these sizes as the other program has them."""
    ...

  def described(self, raw: dict[str, object], tensors: Readers) -> dict[str, object]:
    """Returns the entries of a config.json, with those that it leaves to the tensors.

    The tensors are under the reference's names.
    """
    ...


@dataclasses.dataclass(frozen=True)
class Naming:
  """Names in Paddle's files, whose linear kernels are (in, out), beside those of the reference.

  Names are without the prefix of the encoder, which only some of the files have.
  """

  name: str  # by which a user asks for such files
  pairs: tuple[tuple[str, str], ...]  # the reference's and theirs, with {layer} in both
  encoder: str  # the prefix of the encoder
  prefixed: bool = False  # their networks name the encoder
  vocabulary: str = ""  # files of words are those of the reference

  def fits(self, names: Iterable[str]) -> bool:
    """Returns true if a file's names are of this kind: its first query is."""
    (query,) = (theirs for ours, theirs in self.pairs if ours.endswith("self.query.weight"))
    return query.format(layer=0) in {self._bare(name) for name in names}

  def reference(self, name: str) -> str:
    """Returns the reference's name of a tensor of theirs; one of another's head stays."""
    return _translated(self._bare(name), self._to_reference)

  def theirs(self, name: str) -> str:
    """Returns their name of a tensor of the reference."""
    bare = self._bare(name)
    prefix = f"{self.encoder}." if self.prefixed and bare != name else ""
    return prefix + _translated(bare, self._to_theirs)

  def read(self, theirs: Readers) -> Readers:
    """Returns a reader for each tensor of a file, under the reference's names."""
    names = {name: self.reference(name) for name in theirs}
    return {ours: functools.partial(_read_turned, ours, theirs[x]) for x, ours in names.items()}

  def write(
    self, tensors: Iterable[tuple[str, np.ndarray]], config: "System"
  ) -> Iterator[tuple[str, np.ndarray]]:
    """Yields the tensors of a model as Paddle has them."""
    for name, tensor in tensors:
      yield self.theirs(name), _turned(name, tensor)

  def described(self, raw: dict[str, object], tensors: Readers) -> dict[str, object]:
    """Returns the entries of a config.json, which leaves nothing out."""
    return raw

  def _bare(self, name: str) -> str:
    return name.removeprefix(f"{self.encoder}.")

  @functools.cached_property
  def _to_reference(self) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((_pattern(theirs), ours) for ours, theirs in self.pairs)

  @functools.cached_property
  def _to_theirs(self) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((_pattern(ours), theirs) for ours, theirs in self.pairs)


def _read_turned(name: str, read: Callable[[], np.ndarray]) -> np.ndarray:
  return _turned(name, read())


def _turned(name: str, tensor: np.ndarray) -> np.ndarray:
  """Returns a tensor, by the reference's name of it, with the axes of a linear kernel exchanged."""
  is_table = name.endswith(("embeddings.weight", "decoder.weight"))
  return tensor if tensor.ndim != 2 or is_table else np.ascontiguousarray(tensor.T)


def _pattern(name: str) -> re.Pattern[str]:
  return re.compile(re.escape(name).replace(r"\{layer\}", r"(?P<layer>\d+)"))


def _translated(name: str, pairs: Iterable[tuple[re.Pattern[str], str]]) -> str:
  for pattern, target in pairs:
    if match := pattern.fullmatch(name):
      return target.format(**match.groupdict())
  return name
