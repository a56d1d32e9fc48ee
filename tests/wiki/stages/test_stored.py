"""The table gives every string its number and no other string any."""

import os
import pickle
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from peak_memory import PEAK

from luke_jax.errors import InputError
from luke_jax.wiki.stages import stored
from luke_jax.wiki.stages.stored import StringTable, write_string_table


@given(names=st.lists(st.text()), others=st.lists(st.text()))
def test_it_is_a_dict(names, others, tmp_path_factory):
  folder = tmp_path_factory.mktemp("table")
  write_string_table(folder, iter(names))
  table = StringTable(folder)
  assert list(table) == names
  assert len(table) == len(names)
  for name in names + others:
    assert table.index(name) == (names.index(name) if name in names else -1)


def test_colliding_strings_are_told_apart(tmp_path, monkeypatch):
  monkeypatch.setattr(stored, "hash_of", lambda data: 2**64 - 1 - len(data))
  names = [str(number) for number in range(300)]
  write_string_table(tmp_path, names)
  table = StringTable(tmp_path)
  assert [table.index(name) for name in names] == list(range(300))
  assert table.index("1000") == table.index("-1") == -1


def test_homes_are_the_high_bits_of_a_product():
  hashes = np.array([0, 1, 2**63, 2**64 - 1, 0x123456789ABCDEF0], np.uint64)
  for homes in (1, 3, 1000, 2**31 + 7):
    expected = [int(hash) * homes >> 64 for hash in hashes]
    assert stored._scaled(hashes, homes).tolist() == expected


def test_it_pickles_as_its_folder(tmp_path):
  write_string_table(tmp_path, [f"Title {number}" for number in range(10_000)])
  data = pickle.dumps(StringTable(tmp_path))
  assert len(data) < 500
  assert pickle.loads(data).index("Title 77") == 77  # noqa: S301


def test_a_folder_without_a_table_is_one_line(tmp_path):
  with pytest.raises(InputError, match="expected a table of strings"):
    StringTable(tmp_path)


BUILD = f"""
import sys
{PEAK}
from pathlib import Path
from luke_jax.wiki.stages.stored import write_string_table
before = peak()
number = int(sys.argv[2])
write_string_table(Path(sys.argv[1]), (f"A title with number {{i:07}}" for i in range(number)))
print(peak() - before)
"""


@pytest.mark.slow
def test_names_of_25_bytes(tmp_path):
  """LUKE_JAX_NAMES=10000000 has as many as Wikipedia."""
  number = int(os.environ.get("LUKE_JAX_NAMES", "2000000"))
  arguments = [sys.executable, "-c", BUILD, str(tmp_path), str(number)]
  grown = int(subprocess.run(arguments, capture_output=True, check=True).stdout)
  assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 50 * number
  assert grown < 100 * number
  start = time.perf_counter()
  table = StringTable(tmp_path)
  assert table.index("A title with number 0000007") == 7
  assert time.perf_counter() - start < 0.5
  asked = [f"A title with number {i * 7919 % number:07}" for i in range(20_000)]
  list(map(table.index, asked))
  start = time.process_time()
  list(map(table.index, asked))
  assert time.process_time() - start < 1  # 10 microseconds each on an idle core
