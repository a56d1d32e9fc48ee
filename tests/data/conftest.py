"""The sample wiki, read once for its tests."""

import sys
from pathlib import Path

import pytest

# The folder `data` is no part of the package: its modules are found from the repository root.
sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

from sample_dumps import DumpedPage, read_dump  # noqa: E402

from data.sample_wiki import generate  # noqa: E402
from data.sample_wiki.articles import Article  # noqa: E402
from data.sample_wiki.world import World, read_world  # noqa: E402


@pytest.fixture(scope="session")
def world() -> World:
  return read_world()


@pytest.fixture(scope="session")
def articles(world: World) -> list[Article]:
  return generate.english_articles(world)


@pytest.fixture(scope="session")
def pages() -> dict[str, DumpedPage]:
  """The English pages that are not redirects, in the namespace of articles."""
  return {p.title: p for p in read_dump("samplewiki")[1] if p.namespace == 0 and not p.redirect}


@pytest.fixture(scope="session")
def redirects() -> dict[str, str]:
  return {p.title: p.redirect for p in read_dump("samplewiki")[1] if p.redirect}
