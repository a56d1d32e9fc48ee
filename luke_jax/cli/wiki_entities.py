"""A line about an entity vocabulary that is smaller than it might be."""

import sys

from luke_jax.wiki.stages.vocabulary_stage import SPECIAL


def report_fewer(most: int, size: int, kind: str) -> None:
  """Prints how many entities there are, if there are fewer than `--entities` asked for."""
  if size < most:
    entities = (
      f"all {size - len(SPECIAL)} {kind} that may be entities and {len(SPECIAL)} special ones"
    )
    print(f"luke-jax: --entities {most}: the vocabulary has {size}, {entities}", file=sys.stderr)
