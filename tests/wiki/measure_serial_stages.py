"""Times the stages that are one shard, on a made-up wiki of a million titles by default.

python tests/wiki/measure_serial_stages.py [TITLES]
"""

import json
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from luke_jax.wiki.stages.mentions import Filter, MakeMentions, MergeNames
from luke_jax.wiki.stages.page_stage import MakeTitles, Shards
from luke_jax.wiki.stages.vocabulary_stage import CountLinks, MakeVocabulary, Selection

SHARDS = 4
LETTERS = "abcdefghijklmnoprstuvw"


def made_up_titles(number, rng):
  words = ["".join(rng.choices(LETTERS, k=rng.randint(3, 9))) for _ in range(60_000)]
  return [" ".join(rng.choices(words, k=rng.randint(1, 4))).capitalize() for _ in range(number)]


def write_pages(folder, titles, rng):
  """The titles and links of each shard, as the stage of pages writes them."""
  for shard in range(SHARDS):
    own = titles[shard::SHARDS]
    rows = [[title, None if i % 5 < 2 else rng.choice(titles)] for i, title in enumerate(own)]
    links = {rng.choice(titles): rng.randint(1, 40) for _ in own}
    path = folder / f"names-{shard:05}-of-{SHARDS:05}.json"
    path.write_text(json.dumps([rows, links]), encoding="utf-8")


def write_links(folder, titles, rng):
  """A line of name, page and number of links for each title, in order in each shard."""
  for shard in range(SHARDS):
    names = (rng.choice(titles).lower() for _ in titles[shard::SHARDS])
    rows = {f"{name}\t{rng.randrange(len(titles))}" for name in names}
    lines = sorted(f"{row}\t{rng.randint(1, 9)}\n" for row in rows)
    (folder / f"links-{shard:05}.tsv").write_text("".join(lines), encoding="utf-8")


def timed(name, work, number, unit):
  start = time.process_time()
  work(0)
  seconds = time.process_time() - start
  print(f"{name}: {seconds:.1f} s, {seconds / number * 1e6:.1f} for a million {unit}", flush=True)


def main(number):
  rng = random.Random(0)
  titles = made_up_titles(number, rng)
  with tempfile.TemporaryDirectory() as place:
    kinds = ("pages", "titles", "counts", "vocabulary", "links", "names", "documents", "mentions")
    folders = {kind: Path(place) / kind for kind in kinds}
    for folder in folders.values():
      folder.mkdir()
    write_pages(folders["pages"], titles, rng)
    shards = Shards(folders["pages"], (1,) * SHARDS)
    timed("titles", MakeTitles(folders["titles"], shards), number, "titles")
    for shard in range(SHARDS):
      CountLinks(folders["counts"], shards, folders["titles"])(shard)
    of = (folders["vocabulary"], folders["counts"], SHARDS, folders["titles"])
    timed("vocabulary", MakeVocabulary(*of, Selection(number // 36)), number, "titles")
    write_links(folders["links"], titles, rng)
    timed("mention_names", MergeNames(folders["names"], folders["links"], SHARDS), number, "links")
    names = len(np.load(folders["names"] / "candidate_starts.npy")) - 1
    for shard in range(SHARDS):
      counts = np.stack([np.arange(names), np.full(names, 3)]).astype(np.int32)
      np.save(folders["documents"] / f"documents-{shard:05}.npy", counts)
    of = (folders["mentions"], folders["names"], folders["documents"], SHARDS)
    timed("mentions", MakeMentions(*of, Filter()), names, "names")


if __name__ == "__main__":
  main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
