"""The stages from a build's pages to the table of mentions, and the inputs of each."""

import dataclasses

from luke_jax.errors import InputError, check_whole
from luke_jax.files import Path
from luke_jax.files.locks import locked
from luke_jax.wiki.mentions.stages import (
  CountDocuments,
  CountNames,
  Filter,
  MakeMentions,
  MergeNames,
)
from luke_jax.wiki.mentions.table import TABLE
from luke_jax.wiki.stages.page_stage import shards_of
from luke_jax.wiki.stages.progress import StageProgress
from luke_jax.wiki.stages.stage import Done, Engine, Stage, check_made_of, read_finished

MAX_TOKENS = 20


def make_mentions(
  folder: Path,
  thresholds: Filter,
  engine: Engine,
  *,
  max_tokens: int = MAX_TOKENS,
  further: bool = False,
) -> dict[str, Done]:
  """Makes the missing stages of the table in a build's folder, and returns all by name.

  With `further` the table also has names that are no links, as `further_names` lists them.
  """
  _check(thresholds, max_tokens)
  folder = folder.resolve()
  read_finished(folder / "pages")  # first, so that only the folder of a build is locked
  stages: dict[str, Done] = {}
  with locked(folder), StageProgress() as progress:
    pages, titles = read_finished(folder / "pages"), read_finished(folder / "titles")
    check_made_of(folder / "titles", "pages")
    shards = shards_of(folder / "pages", pages)
    links, names, counts = (folder / f"mention_{part}" for part in ("links", "names", "counts"))

    def made(stage: Stage) -> str:
      stages[stage.name] = progress.finish(stage, engine)
      return stages[stage.name].key

    read = CountNames(links, shards, folder / "titles", max_tokens, further)
    facts = {"pages": pages.key, "titles": titles.key, "max_tokens": max_tokens}
    facts |= {"further": True} if further else {}
    # Version 1 had no sources.
    linked = made(Stage(links, len(shards), read, facts, version=2))
    merge = MergeNames(names, links, len(shards))
    named = made(Stage(names, 1, merge, {"links": linked}))
    count = CountDocuments(counts, shards, names)
    counted = made(Stage(counts, len(shards), count, {"pages": pages.key, "names": named}))
    make = MakeMentions(folder / TABLE, names, counts, len(shards), thresholds)
    parts = {"titles": titles.key, "names": named, "counts": counted}
    made(Stage(make.folder, 1, make, parts | dataclasses.asdict(thresholds)))
  return stages


def _check(thresholds: Filter, max_tokens: int) -> None:
  probability = thresholds.min_link_probability
  if not 0 <= probability <= 1:
    raise InputError(f"--min-link-probability: {probability}; expected a number from 0 to 1")
  numbers = {"--max-candidates": thresholds.max_candidates, "--min-count": thresholds.min_count}
  check_whole(1, **numbers, **{"--max-tokens": max_tokens})
