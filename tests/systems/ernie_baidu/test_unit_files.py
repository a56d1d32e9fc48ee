"""Files of units: parsed alike fast and slowly, once for all processes, in little memory."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from peak_memory import PEAK

from data.ernie_baidu.units import write_units
from luke_jax.errors import InputError
from luke_jax.files import Path as LukePath
from luke_jax.pipeline.reads import clear_caches
from luke_jax.systems.ernie_baidu import units
from luke_jax.systems.ernie_baidu.units import UnitInstance, UnitInstances, _any, _plain, read_units

GOOD = "1 7 8 2;0 0 0 0;0 1 2 3;-1 0 1 -1;1"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "cache"))
  clear_caches()


def same(one, other):
  return all(np.array_equal(x, y) and x.dtype == y.dtype for x, y in zip(one, other, strict=True))


@st.composite
def lines(draw, levels):
  """A line of a random instance."""
  count = draw(st.integers(2, 6))
  ids = draw(st.lists(st.integers(0, 99_999), min_size=count, max_size=count))
  types = draw(st.lists(st.integers(0, 1), min_size=count, max_size=count))
  fields = [ids, types, list(range(count))]
  for _ in range(levels):
    units = draw(st.lists(st.integers(-1, 1), min_size=count, max_size=count))
    for i, label in enumerate(units):
      if label == 1 and (i == 0 or units[i - 1] == -1):
        units[i] = 0
    fields.append(units)
  text = ";".join(" ".join(map(str, field)) for field in fields)
  return f"{text};{draw(st.integers(0, 1))}\n".encode()


@given(st.data(), st.integers(1, 2))
def test_lines_are_read_at_once_as_one_by_one(data, levels):
  made = data.draw(st.lists(lines(levels), min_size=1, max_size=4))
  fast = _plain(b"".join(made), levels)
  assert fast is not None and same(fast, _any(made, levels, "file", 1))


@given(st.data())
def test_what_is_read_at_once_is_what_is_there(data):
  """Whatever a byte is changed to: what the fast way accepts, the slow one reads as the same."""
  text = bytearray(b"".join(data.draw(st.lists(lines(1), min_size=1, max_size=2))))
  for _ in range(data.draw(st.integers(1, 2))):
    text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.sampled_from(b"0129-; \n\r+x"))
  made = bytes(text).splitlines(keepends=True)
  fast = _plain(bytes(text), 1)
  if fast is not None:
    assert same(fast, _any(made, 1, "file", 1))


ODD = [
  GOOD.replace(" ", "  "),
  f" {GOOD}",
  GOOD.replace("7", "+7"),
  GOOD.replace("7", "0000000000007"),
  GOOD.replace(";0 1", ";1234567890123 -1"),
  f"{GOOD}\r",
]


@pytest.mark.parametrize("line", ODD)
def test_odd_lines_are_read_too(line, tmp_path):
  (tmp_path / "x").write_bytes(f"{GOOD}\n{line}\n{GOOD}".encode())
  file = read_units(str(tmp_path / "x"), 1)
  for i in range(3):
    assert file.instance(i, 0).input_ids.tolist() == [1, 7, 8, 2]
  assert len(file) == 3 and file.sizes == (4, 8)


def test_a_fault_far_from_the_start_is_named(tmp_path, monkeypatch):
  monkeypatch.setattr(units, "BLOCK", 100)
  (tmp_path / "x").write_text(f"{GOOD}\n" * 50 + f"{GOOD};\n" + f"{GOOD}\n" * 50)
  for _ in range(2):
    with pytest.raises(InputError, match=r"x: line 51: 6 fields; expected 5"):
      read_units(str(tmp_path / "x"), 1)
  (tmp_path / "x").write_bytes(f"{GOOD}\n".encode() * 7 + b"1 \xff 2\n")
  with pytest.raises(InputError, match=r"x: line 8: 1 fields; expected 5"):
    read_units(str(tmp_path / "x"), 1)
  assert not list((tmp_path / "cache").rglob("words"))


def instances(count, words=8):
  rng = np.random.default_rng(count)
  units = np.zeros((1, words), int)
  units[0, [0, -1]] = -1
  return [
    UnitInstance(rng.integers(5, 1000, words), np.zeros(words, int), units, bool(i % 2))
    for i in range(count)
  ]


def ids(path):
  file = read_units(str(path), 1)
  return [file.instance(i, 0).input_ids.tolist() for i in range(len(file))]


def test_a_file_is_parsed_once_and_again_when_it_changes(tmp_path, monkeypatch):
  path, parsed = tmp_path / "x.gz", []
  fill = units._fill

  def counted(*arguments):
    parsed.append(arguments)
    fill(*arguments)

  monkeypatch.setattr(units, "_fill", counted)
  for count in (3, 4):
    made = instances(count)
    write_units(LukePath(path), made)
    for _ in range(3):
      clear_caches()
      assert ids(path) == [x.input_ids.tolist() for x in made]
  assert len(parsed) == 2


def test_without_a_cache_files_are_in_memory(tmp_path, monkeypatch):
  made = instances(5)
  write_units(LukePath(tmp_path / "x.gz"), made)
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "x.gz"))
  with pytest.warns(UserWarning, match="in the memory of every process .*; LUKE_JAX_CACHE can"):
    assert ids(tmp_path / "x.gz") == [x.input_ids.tolist() for x in made]


def test_what_was_damaged_in_the_cache_is_one_line(tmp_path):
  write_units(LukePath(tmp_path / "x.gz"), instances(5))
  folder = read_units(str(tmp_path / "x.gz"), 1).source.folder
  for name, size in (("words", 6 * 39), ("texts", 0)):
    os.truncate(folder / name, size)
    clear_caches()
    with pytest.raises(InputError, match=r"not as it was made of .*x.gz; remove it"):
      read_units(str(tmp_path / "x.gz"), 1)


def test_files_in_a_bucket(bucket, tmp_path):
  made = instances(10)
  write_units(LukePath(tmp_path / "x.gz"), made)
  (bucket / "x.gz").write_bytes((tmp_path / "x.gz").read_bytes())
  read = UnitInstances((str(bucket / "x.gz"), str(tmp_path / "x.gz")), 1, 0.2, "train", 100)
  assert len(read) == 16
  assert [x.input_ids.tolist() for x in read] == 2 * [x.input_ids.tolist() for x in made[:8]]
  with pytest.raises(InputError, match=r"gs://.*none\.gz: .*; expected ids;types"):
    read_units(str(bucket / "none.gz"), 1)


# What a process has for itself: pages of files are shared.
READ = f"""
import pickle, sys
from luke_jax.systems.ernie_baidu.units import read_units
{PEAK}
def own():
  with open("/proc/self/status") as file:
    return next(1024 * int(line.split()[1]) for line in file if line.startswith("RssAnon:"))

if sys.argv[2] == "parse":
  before = peak()
  read_units(sys.argv[1], 1)
  print(peak() - before)
else:
  read = pickle.loads(bytes.fromhex(sys.argv[2]))
  read[0]
  before = own()
  total = sum(int(read[i].input_ids.sum()) for i in range(0, len(read), 7))
  print(own() - before)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path):
  """Neither of the process that parses it, nor of workers, which get no more than its name."""
  path, count = tmp_path / "x.txt", 40_000
  write_units(LukePath(path), instances(1, words=100))
  path.write_bytes(path.read_bytes() * count)
  pickled = pickle.dumps(UnitInstances((str(path),), 1, 0.1, "train", 100))
  assert len(pickled) < 500
  environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
  for what, most in (("parse", 16e6), (pickled.hex(), 1e6)):
    command = [sys.executable, "-c", READ, path, what]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < most
  (words,) = (tmp_path / "cache").rglob("words")
  assert words.stat().st_size == 6 * 100 * count  # bytes


@pytest.mark.parametrize("split", ["train", "dev"])
def test_lengths_are_those_of_the_instances(split, tmp_path):
  paths = [tmp_path / "a", tmp_path / "b"]
  for path, count in zip(paths, (7, 5), strict=True):
    write_units(LukePath(path), instances(count))
  records = UnitInstances(tuple(map(str, paths)), 1, 0.3, split, 100)
  assert records.lengths.tolist() == [len(record.input_ids) for record in records]
