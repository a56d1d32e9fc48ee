"""Entities beside the word pieces that name them, and the folders that hold their vectors."""

import os
import pickle

import numpy as np
import pytest

from luke_jax.errors import InputError
from luke_jax.text.alignment import align, checked_links
from luke_jax.text.entity_vectors import read_entity_vectors

#          Jim     Hen    ##son   was      a   pup..    ##eer      .
OFFSETS = [(0, 3), (4, 7), (7, 10), (11, 14), (15, 16), (17, 23), (23, 26), (26, 27)]
STARTS = [True, True, False, True, True, True, False, True]


@pytest.mark.parametrize(
  ("how", "expected"),
  [
    ("first", [0, -1, -1, -1, -1, 1, -1, -1]),
    ("all", [0, 0, 0, -1, -1, 1, 1, -1]),
    ("alternate", [0, -1, 0, -1, -1, 1, -1, -1]),
  ],
)
def test_pieces_that_an_entity_is_beside(how, expected):
  assert align(OFFSETS, STARTS, [(0, 10), (17, 26)], how).tolist() == expected


@pytest.mark.parametrize(
  ("span", "what"),
  [((7, 10), "begins inside of a word"), ((3, 7), "begins with a space"), ((30, 33), "is cut off")],
)
def test_a_mention_that_does_not_begin_a_word_is_beside_none(span, what):
  assert set(align(OFFSETS, STARTS, [span], "all").tolist()) == {-1}, what


def test_special_tokens_and_later_mentions_of_a_token_get_nothing():
  offsets = [(-1, -1), *OFFSETS, (-1, -1)]
  found = align(offsets, [True, *STARTS, True], [(0, 3), (0, 10)], "all")
  assert found.tolist() == [-1, 0, -1, -1, -1, -1, -1, -1, -1, -1]


@pytest.mark.parametrize(
  ("links", "message"),
  [
    ("Q1", "'Q1'; expected a list"),
    ([["Q1", 0]], r"link 0: \['Q1', 0\]; expected \[entity, start, end\]"),
    ([["Q1", 0, 3], ["Q2", 5, 12]], r"link 1: span 0 is \(5, 12\); expected 0 <= start < end <= 9"),
    ([["Q1", 3, 3]], r"link 0: span 0 is \(3, 3\)"),
    ([["Q1", 0, 3, "sure"]], "link 0: score 'sure'; expected a number"),
    ([[1, 0, 3]], "link 0"),
  ],
)
def test_links_outside_of_a_text_are_refused(links, message):
  with pytest.raises(InputError, match=message):
    checked_links(links, 9, "text")


def folder(place, ids="2\nQ5\t1\nQ1\t0\n", vectors="0.5\t-1.0\t\n2.0\t0.25\t\n"):
  place.mkdir(exist_ok=True)
  (place / "entity2id.txt").write_text(ids)
  (place / "entity2vec.vec").write_text(vectors)
  return place


def test_vectors_by_name(tmp_path):
  vectors = read_entity_vectors(folder(tmp_path / "kg_embed"))
  numbers = vectors.numbers(["Q5", "Q7", "Q1"])
  assert numbers.tolist() == [1, -1, 0]
  np.testing.assert_array_equal(vectors[numbers], [[2, 0.25], [0, 0], [0.5, -1]])
  assert vectors[numbers].dtype == np.float32
  assert (vectors.width, vectors.names) == (2, ["Q1", "Q5"])
  assert vectors.nearest("Q1", 5) == [
    ("Q5", pytest.approx(0.75 / np.hypot(0.5, 1) / np.hypot(2, 0.25)))
  ]


def test_text_becomes_an_array_on_disk_once_and_again_when_it_is_newer(tmp_path):
  place = folder(tmp_path / "kg_embed")
  table = read_entity_vectors(place).table
  assert isinstance(table, np.memmap)
  (place / "entity2vec.vec").write_text("9\t9\n9\t9\n")
  later = (place / "entity2vec.npy").stat().st_mtime + 5
  os.utime(place / "entity2vec.vec", (later, later))
  again = read_entity_vectors(place)
  np.testing.assert_array_equal(again.table, np.full((2, 2), 9))
  (place / "entity2vec.vec").unlink()
  copy = pickle.loads(pickle.dumps(again))  # noqa: S301, as for workers
  np.testing.assert_array_equal(copy.table, again.table)


@pytest.mark.parametrize(
  ("files", "message"),
  [
    ({"ids": "Q1\t0\n"}, r"entity2id.txt: line 1: 'Q1\\t0'; expected the number of entities"),
    ({"ids": "3\nQ1\t0\nQ5\t1\n"}, "entity2id.txt: 2 names; expected 3, with ids from 0 on"),
    ({"ids": "2\nQ1\t0\nQ1\t1\n"}, r"line 3: 'Q1\\t1'; expected a new name, a tab and an id"),
    ({"ids": "2\nQ1\t0\nQ5\t7\n"}, "2 names; expected 2, with ids from 0 on"),
    ({"vectors": "1\t2\n"}, "entity2vec.vec: 1 lines; expected 2, one for each entity"),
    ({"vectors": "1\t2\n3\n"}, "entity2vec.vec: line 2: 1 numbers; expected 2 lines of 2"),
    ({"vectors": "1\t2\n3\tx\n"}, r"entity2vec.vec: line 2: '3\\tx'; expected numbers"),
  ],
)
def test_damaged_folders_are_refused_and_leave_no_array(tmp_path, files, message):
  place = folder(tmp_path / "kg_embed", **files)
  with pytest.raises(InputError, match=message):
    read_entity_vectors(place)
  assert sorted(path.name for path in place.iterdir()) == ["entity2id.txt", "entity2vec.vec"]


def test_a_folder_without_files_is_refused(tmp_path):
  with pytest.raises(InputError, match=r"no entity2id.txt; expected a folder of entity vectors"):
    read_entity_vectors(tmp_path)
  place = folder(tmp_path / "kg_embed")
  (place / "entity2vec.vec").unlink()
  with pytest.raises(InputError, match=r"no entity2vec.vec and no entity2vec.npy"):
    read_entity_vectors(place)
  (place / "entity2vec.npy").write_bytes(b"not an array")
  with pytest.raises(InputError, match=r"entity2vec.npy: .*; expected an array of NumPy"):
    read_entity_vectors(place)
