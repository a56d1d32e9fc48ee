"""Prints how often a link's page is among its name's candidates, by where names are from.

python tests/wiki/measure_candidates.py BUILD TABLES

Each link is looked up in names that were made without its own page. Links to no page of the build
are not counted. TABLES is the folder that the build was exported to with items of Wikidata's JSON,
whose labels and aliases count as names too, after the others and by themselves.
"""

import sys
from collections import Counter, defaultdict
from pathlib import Path

from luke_jax.inference.describing import FROM_WIKIDATA
from luke_jax.wiki.export.read import read_pages
from luke_jax.wiki.stages.mentions import FURTHER, LINK, WEIGHTS, names_of_page, names_of_redirects
from luke_jax.wiki.stages.page_stage import NOWHERE, Titles, shards_of
from luke_jax.wiki.stages.stage import read_finished
from luke_jax.wiki.stages.tokens import name_of

WIKIDATA = "Wikidata"
WEIGHT = {LINK: 1.0, **dict(zip(FURTHER, WEIGHTS.tolist(), strict=True)), WIKIDATA: FROM_WIKIDATA}


def main(folder, tables):
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
  for page in read_pages(tables, text=False):
    for name in page.aliases:
      add(name, page.title, WIKIDATA, said_by=None)
  report(links, known)


def report(links, known):
  print(f"{len(links):,} links")
  every = (LINK, *FURTHER, WIKIDATA)
  for sources in [*(every[:number] for number in range(1, len(every) + 1)), (LINK, WIKIDATA)]:
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
    print(f"| {' + '.join(sources)} | {shares} |")


if __name__ == "__main__":
  main(*map(Path, sys.argv[1:]))
