"""`luke-jax wiki mentions`."""

import json
from typing import Annotated

from tyro.conf import OmitArgPrefixes, Positional, arg

from luke_jax.cli.wiki_engine import EngineOptions
from luke_jax.files import Path
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
  """Makes the table of names in a build's folder: the pages that each links to, and how often.

  Names are compared without case and accents. The same command resumes. Another --max-tokens counts
  everything again; other thresholds use the same counts.

      luke-jax wiki mentions wiki/en --workers 4

  Args:
    folder: Folder of luke-jax wiki build.
    min_link_probability: Smallest share of the pages with a name on which it is a link.
    max_candidates: Largest number of pages for a name; the most linked are kept.
    min_count: Smallest number of links from a name to a page.
    max_tokens: Largest number of tokens of a name.
  """
  thresholds = Filter(min_link_probability, max_candidates, min_count)
  with engine.opened() as runner:
    stages = make_mentions(folder, thresholds, runner, max_tokens=max_tokens)
  print(json.dumps({"folder": str(folder / TABLE), **stages[TABLE].counts}))
