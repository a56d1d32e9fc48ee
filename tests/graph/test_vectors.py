"""Vectors in a folder: what is written is opened, and faults are named with their line."""

import numpy as np
import pytest

from luke_jax.errors import InputError
from luke_jax.graph.ids import Ids
from luke_jax.graph.neighbours import nearest
from luke_jax.graph.vectors import Vectors, folder_norm, open_vectors, write_vectors


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


@pytest.mark.parametrize(
  "text, message",
  [
    ("1 2\n3 4\n", "entity2vec.vec: 2 vectors; expected 3, as entity2id.txt has"),
    ("1 2\n3\n5 6\n", "entity2vec.vec: line 2: 1 numbers; expected 2, as line 1 has"),
    ("1 2\nx 4\n5 6\n", "entity2vec.vec: line 2: 'x 4'; expected numbers"),
    ("1 2\n3 nan\n5 6\n", "entity2vec.vec, line 2: not finite"),
    ("", "entity2vec.vec: 0 vectors; expected 3"),
  ],
)
def test_faults_of_lines_are_named(folder, text, message):
  (folder / "entity2vec.npy").unlink()
  (folder / "entity2vec.vec").write_text(text)
  with pytest.raises(InputError) as fault:
    open_vectors(folder)
  assert message in str(fault.value)


def test_other_files_are_refused(folder):
  (folder / "entity2vec.npy").write_bytes(b"no array")
  with pytest.raises(InputError, match=r"entity2vec\.npy: .*; expected an array of vectors"):
    open_vectors(folder)
  np.save(folder / "entity2vec.npy", np.zeros(3, np.int64))
  with pytest.raises(InputError, match="int64 of shape"):
    open_vectors(folder)
  with pytest.raises(InputError, match=r"expected vectors, here or as \.npy"):
    (folder / "relation2vec.npy").unlink()
    (folder / "relation2vec.vec").unlink()
    open_vectors(folder, "relation")


@pytest.mark.parametrize("norm", [1, 2])
def test_neighbours_are_found_over_blocks(norm, monkeypatch):
  monkeypatch.setattr("luke_jax.graph.neighbours.BLOCK", 7)
  table = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
  rows, distances = nearest(table, table[3], 6, norm)
  expected = np.linalg.norm(table - table[3], norm, axis=1)
  np.testing.assert_array_equal(rows, np.argsort(expected, kind="stable")[:6])
  np.testing.assert_array_equal(distances, expected[rows])
