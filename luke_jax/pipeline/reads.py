"""Files that a task reads, which have to stay the same while a run lasts."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Reads:
  """Files by how they are read; a change of any of them ends a run."""

  whole: tuple[str, ...] = ()  # files, and splits of datasets, that are read to their end
  parts: tuple[str, ...] = ()  # large files that are read here and there

  def __add__(self, other: "Reads") -> "Reads":
    return Reads(self.whole + other.whole, self.parts + other.parts)
