"""Prints how often a link's page is among its name's candidates, by where names are from.

python tests/wiki/measure_candidates.py BUILD

Each link is looked up in names that were made without its own page. Links to no page of the build
are not counted.
"""

import sys
from collections import Counter, defaultdict
from pathlib import Path

from luke_jax.wiki.mentions.further_names import (
  FURTHER,
  LINK,
  WEIGHTS,
  names_of_page,
  names_of_redirects,
)
from luke_jax.wiki.stages.page_stage import shards_of
from luke_jax.wiki.stages.stage import read_finished
from luke_jax.wiki.stages.title_stage import NOWHERE, Titles
from luke_jax.wiki.stages.tokens import name_of

WEIGHT = {LINK: 1.0, **dict(zip(FURTHER, WEIGHTS.tolist(), strict=True))}


def main(folder):
  titles = Titles(folder / "titles")
  shards = shards_of(folder / "pages", read_finished(folder / "pages"))
  # name -> (page meant, source) -> pages that say so, with how often
  known = defaultdict(lambda: defaultdict(Counter))
  links = []

  def add(text, title, source, said_by):
    name, to = name_of(text, 20), titles.page(title)
    if name is not None and to != NOWHERE:
      known[name][to, source][said_by] += 1
      return name, to
    return None

  for shard in range(len(shards)):
    for name in names_of_redirects(shards.read_names(shard).titles):
      add(*name, said_by=None)
    for page in shards.read_pages(shard):
      for name in names_of_page(page):
        add(*name, said_by=page.title)
      for link in (link for paragraph in page.paragraphs for link in paragraph.links):
        if found := add(link.text, link.target, LINK, page.title):
          links.append((page.title, *found))
  report(links, known)


def report(links, known):
  print(f"{len(links):,} links")
  for number in range(len(FURTHER) + 1):
    sources = (LINK, *FURTHER[:number])
    among = first = candidates = 0
    for page, name, to in links:
      weights = Counter()
      for (other, source), said_by in known[name].items():
        if source in sources and (count := said_by.total() - said_by[page]) > 0:
          weights[other] += WEIGHT[source] * (count if source == LINK else 1)
      among += weights[to] > 0
      first += weights[to] > 0 and weights[to] == max(weights.values())
      candidates += len(weights)
    shares = f"{among / len(links):.1%} | {first / len(links):.1%} | {candidates / len(links):.2f}"
    print(f"| {'+ ' if number else ''}{sources[-1]} | {shares} |")


if __name__ == "__main__":
  main(Path(sys.argv[1]))
