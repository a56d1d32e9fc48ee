"""Vectors in a folder: what is written is opened, and faults are named with their line."""

import os

import numpy as np
import pytest

from luke_jax.errors import InputError
from luke_jax.graph.triples import Ids
from luke_jax.graph.vectors import (
  Vectors,
  folder_norm,
  most_similar,
  nearest,
  open_vectors,
  write_vectors,
)


@pytest.fixture
def folder(tmp_path):
  rng = np.random.default_rng(0)
  tables = rng.normal(size=(3, 4)).astype(np.float32), rng.normal(size=(2, 4)).astype(np.float32)
  ids = Ids(["Q1", "Q2", "Q3"]), Ids(["P1", "P2"])
  vectors = tuple(Vectors(own, table) for own, table in zip(ids, tables, strict=True))
  write_vectors(tmp_path / "vectors", vectors, {"norm": 2}, text=True)
  return tmp_path / "vectors"


def test_vectors_are_mapped_and_looked_up_by_name(folder):
  opened = open_vectors(folder)
  assert isinstance(opened.table, np.memmap)
  assert opened.find(["Q3", "Q7", "Q1"]).tolist() == [2, -1, 0]
  np.testing.assert_array_equal(opened.rows(["Q3", "Q1"]), opened.table[[2, 0]])
  assert folder_norm(folder) == 2
  with pytest.raises(InputError, match="'Q7': no vector"):
    opened.rows(["Q1", "Q7"])


def test_lines_of_numbers_are_the_same_vectors(folder):
  mapped = {part: np.array(open_vectors(folder, part).table) for part in ("entity", "relation")}
  for part, table in mapped.items():
    (folder / f"{part}2vec.npy").unlink()
    np.testing.assert_allclose(open_vectors(folder, part).table, table, atol=6e-7)
  line = (folder / "entity2vec.vec").read_text().split("\n")[0]
  assert line == "\t".join(f"{x:.6f}" for x in mapped["entity"][0])


def text_folder(place, ids="2\nQ5\t1\nQ1\t0\n", vectors="0.5\t-1.0\t\n\n2.0\t0.25\t\n"):
  """Makes a folder as ERNIE's authors have it: lines end in a tab."""
  place.mkdir(exist_ok=True)
  (place / "entity2id.txt").write_text(ids)
  (place / "entity2vec.vec").write_text(vectors)
  return place


def test_vectors_by_id(tmp_path):
  vectors = open_vectors(text_folder(tmp_path / "kg_embed"))
  ids = vectors.find(["Q5", "Q7", "Q1"])
  np.testing.assert_array_equal(vectors.at(ids), [[2, 0.25], [0, 0], [0.5, -1]])
  assert vectors.at(ids[None]).shape == (1, 3, vectors.width)
  assert vectors.at(ids).dtype == np.float32


@pytest.mark.parametrize("change", [5, -5])
def test_text_becomes_an_array_on_disk_once_and_again_when_it_is_another(tmp_path, change):
  """Another text may be the older one, as after cp -p, or where a clock was set back."""
  place = text_folder(tmp_path / "kg_embed")
  assert isinstance(open_vectors(place).table, np.memmap)
  array, text = place / "entity2vec.vec.npy", place / "entity2vec.vec"
  np.save(array, np.full((2, 2), 7.0))
  os.utime(array, ns=(0, text.stat().st_mtime_ns))
  assert open_vectors(place).table[0, 0] == 7  # read, and not made again
  text.write_text("9\t9\n9\t9\n")
  time = array.stat().st_mtime + change
  os.utime(text, (time, time))
  assert open_vectors(place).table[0, 0] == 9


def test_a_folder_that_takes_no_file_is_read_into_memory(tmp_path, monkeypatch):
  def full(path):
    raise OSError(28, "No space left on device")

  monkeypatch.setattr("luke_jax.graph.vectors.whole", full)
  table = open_vectors(text_folder(tmp_path / "kg_embed")).table
  assert not isinstance(table, np.memmap)
  np.testing.assert_array_equal(table, [[0.5, -1], [2, 0.25]])


def test_vectors_in_a_bucket(folder, bucket, cloud_storage, tmp_path, monkeypatch):
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "cache"))
  for file in folder.iterdir():
    (bucket / file.name).write_bytes(file.read_bytes())
  opened = open_vectors(bucket)
  assert isinstance(opened.table, np.memmap)
  np.testing.assert_array_equal(opened.table, open_vectors(folder).table)
  (bucket / "entity2vec.npy").unlink()
  before = sorted(cloud_storage.files(str(bucket)))
  for _ in range(2):  # from the text, and then from the array beside its copy
    np.testing.assert_allclose(open_vectors(bucket).table, opened.table, atol=6e-7)
  assert sorted(cloud_storage.files(str(bucket))) == before


@pytest.mark.parametrize(
  "text, message",
  [
    ("1 2\n3 4\n", "entity2vec.vec: 2 vectors; expected 3, one for each name"),
    ("1 2\n3 4\n5 6\n7 8\n", "entity2vec.vec: 4 vectors; expected 3"),
    ("1 2\n\n3\n5 6\n", "entity2vec.vec, line 3: 1 numbers; expected 2, as the first line has"),
    ("1 2\n3\n5\n", "entity2vec.vec, line 2: 1 numbers; expected 2"),
    ("1 2\nx 4\n5 6\n", "entity2vec.vec, line 2: 'x 4'; expected numbers"),
    ("1 2\n3 4\n5 nan\n", "entity2vec.vec, line 3: not finite"),
    ("1 2\n3 \udcff\n5 6\n", "entity2vec.vec: not UTF-8"),
    ("", "entity2vec.vec: no vectors; expected 3"),
  ],
)
def test_faults_of_lines_are_named_and_leave_no_array(folder, text, message, monkeypatch):
  monkeypatch.setattr("luke_jax.graph.vectors._LINES", 2)
  (folder / "entity2vec.npy").unlink()
  (folder / "entity2vec.vec").write_text(text, errors="surrogateescape")
  with pytest.raises(InputError) as fault:
    open_vectors(folder)
  assert message in str(fault.value)
  assert not list(folder.glob("entity2vec*.npy"))


def test_other_files_are_refused(folder):
  (folder / "entity2vec.npy").write_bytes(b"no array")
  with pytest.raises(InputError, match=r"entity2vec\.npy: .*; expected an array of vectors"):
    open_vectors(folder)
  np.save(folder / "entity2vec.npy", np.zeros(3, np.int64))
  with pytest.raises(InputError, match="int64 of shape"):
    open_vectors(folder)
  np.save(folder / "entity2vec.npy", np.zeros((2, 4)))
  with pytest.raises(InputError, match=r"npy: 2 vectors; expected 3, as entity2id\.txt has"):
    open_vectors(folder)
  with pytest.raises(InputError, match=r"no relation2vec\.npy and no relation2vec\.vec"):
    (folder / "relation2vec.npy").unlink()
    (folder / "relation2vec.vec").unlink()
    open_vectors(folder, "relation")


@pytest.mark.parametrize("norm", [1, 2])
def test_neighbours_are_found_over_blocks(norm, monkeypatch):
  monkeypatch.setattr("luke_jax.graph.vectors.BLOCK", 7)
  table = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
  rows, distances = nearest(table, table[3], 6, norm)
  expected = np.linalg.norm(table - table[3], norm, axis=1)
  np.testing.assert_array_equal(rows, np.argsort(expected, kind="stable")[:6])
  np.testing.assert_array_equal(distances, expected[rows])


def test_similar_vectors_are_found_over_blocks(monkeypatch):
  monkeypatch.setattr("luke_jax.graph.vectors.BLOCK", 7)
  table = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
  table[9] = 0
  rows, cosines = most_similar(table, table[3], 40)
  lengths = np.linalg.norm(table, axis=1) * np.linalg.norm(table[3])
  expected = table @ table[3] / np.where(lengths, lengths, 1)
  assert rows[0] == 3
  assert cosines.tolist() == sorted(cosines, reverse=True)
  np.testing.assert_allclose(cosines, expected[rows], atol=1e-6)
