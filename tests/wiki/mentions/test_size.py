"""A table of very many names is small and opens at once."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from luke_jax.wiki.mentions import Mentions
from luke_jax.wiki.stages.stored import write_string_table

FOLDERS = ("mention_links", "mention_names", "mention_counts", "mentions")
TABLE = """
import re, sys
from pathlib import Path
from luke_jax.wiki.stages.mentions import Filter, MakeMentions, MergeNames
folder = Path(sys.argv[1])
names, counts = folder / "mention_names", folder / "mention_counts"
MergeNames(names, folder / "mention_links", 1)(0)
MakeMentions(folder / "mentions", names, counts, 1, Filter())(0)
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


def synthetic_name(number):
  """Names of 23 bytes and three tokens on average, some the beginnings of others."""
  words = ("union", "saint", "north", "district", "lake", "station", "of", "battle")
  first, second = words[number % 8], f"{number * 2654435761 % 2**32:07x}"
  return (second, f"{first} {second}", f"{first} {second} {number % 97}", f"{second} of {first}s")[
    number % 4
  ]


@pytest.mark.slow
def test_names_take_less_than_a_hundred_bytes_each(tmp_path):
  number = int(os.environ.get("LUKE_JAX_NAMES", "300000"))  # the bytes grow in proportion
  for name in ("titles", *FOLDERS):
    (tmp_path / name).mkdir()
  lines = (
    f"{synthetic_name(i)}\t{i * 7919 % 1000 + j}\t{9 - j}\t0\n"
    for i in range(number)
    for j in range(1 + i % 3 // 2)
  )
  (tmp_path / "mention_links/links-00000.tsv").write_bytes(b"".join(sorted(map(str.encode, lines))))
  script = [sys.executable, "-c", TABLE, str(tmp_path)]
  different = len({synthetic_name(i) for i in range(number)})
  documents = np.stack([np.arange(different), np.arange(different) % 50 + 1]).astype(np.int32)
  np.save(tmp_path / "mention_counts/documents-00000.npy", documents)
  peak = 1024 * int(subprocess.run(script, capture_output=True, check=True, text=True).stdout)
  size = sum(path.stat().st_size for path in (tmp_path / "mentions").iterdir())
  print(f"{different} names, {size / different:.1f} bytes each, {peak / 1e6:.0f} MB to write them")
  assert different > 0.9 * number
  assert size / different < 100
  write_titles(tmp_path, 1001)
  start = time.perf_counter()
  mentions = Mentions(tmp_path)
  number = mentions.number(synthetic_name(77))
  assert mentions.candidates(number)[0].title == f"Title {77 * 7919 % 1000}"
  print(f"opened in {time.perf_counter() - start:.3f} s")
  assert time.perf_counter() - start < 1


def write_titles(folder, number):
  write_string_table(folder / "titles", [f"Title {i}" for i in range(number)])
  np.save(folder / "titles/targets.npy", np.arange(number, dtype=np.int32))
  for name in ("titles", "mentions"):
    manifest = {"key": "key", "shards": [], "made_of": {"titles": "key"}}
    (folder / name / "manifest.json").write_text(json.dumps(manifest))
