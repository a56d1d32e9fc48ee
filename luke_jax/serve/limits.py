"""Limits of a server: what one request may ask for, and how many may wait."""

import dataclasses
import math

from luke_jax.errors import InputError, check_whole


@dataclasses.dataclass(frozen=True)
class Limits:
  """Most that a server takes on, so that no client makes the others wait without end."""

  body: int = 1_000_000  # bytes of a request
  characters: int = 20_000  # of a text
  labels: int = 1000  # that a request looks for, whose reading takes seconds
  waiting: int = 256  # requests without an answer
  seconds: float = 30.0  # for a request to arrive, and then for its answer

  def __post_init__(self) -> None:
    """Raises InputError for limits below 1, and for a time that is none."""
    check_whole(1, body=self.body, characters=self.characters, labels=self.labels)
    check_whole(1, waiting=self.waiting)
    if not 0 < self.seconds < math.inf:
      raise InputError(f"seconds: {self.seconds!r}; expected a number above 0")
