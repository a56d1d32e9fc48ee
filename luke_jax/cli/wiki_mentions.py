"""`luke-jax wiki mentions`."""

import json
from pathlib import Path
from typing import Annotated

from tyro.conf import OmitArgPrefixes, Positional, arg

from luke_jax.cli.wiki_engine import EngineOptions
from luke_jax.wiki.mentions.build import MAX_TOKENS, make_mentions
from luke_jax.wiki.mentions.stages import Filter
from luke_jax.wiki.mentions.table import TABLE


def run(
  folder: Annotated[Path, Positional, arg(metavar="OUT")],
  /,
  *,
  min_link_probability: float = 0.01,
  max_candidates: int = 100,
  min_count: int = 1,
  max_tokens: int = MAX_TOKENS,
  engine: OmitArgPrefixes[EngineOptions],
) -> None:
  """Make the table of names in a build's folder: which pages each is a link to, and how often.

  Case and accents make no difference between names. The same command resumes, and other thresholds
  use what was counted.

      luke-jax wiki mentions wiki/en --workers 4

  Args:
    folder: Folder of luke-jax wiki build.
    min_link_probability: Leave out names that are links on a smaller share of their pages.
    max_candidates: Keep so many pages for a name, the most linked.
    min_count: Leave out pages that a name is linked to less often.
    max_tokens: Leave out names of more tokens.
  """
  chosen = Filter(min_link_probability, max_candidates, min_count)
  with engine.opened() as runner:
    stages = make_mentions(folder, chosen, runner, max_tokens=max_tokens)
  print(json.dumps({"folder": str(folder / TABLE), **stages[TABLE].counts}))
