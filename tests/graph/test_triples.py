"""Files of triples: what is read of them, and what is refused with its line."""

from pathlib import Path

import numpy as np
import pytest

from luke_jax.errors import InputError
from luke_jax.graph.triples import read_false, read_graph, read_ids, write_ids

SAMPLE = Path(__file__).parents[2] / "data" / "sample_graph"


def written(folder: Path, **files: str) -> Path:
  """A folder of text files, by name without the ending."""
  folder.mkdir(exist_ok=True)
  for name, text in files.items():
    (folder / f"{name}.txt").write_text(text, encoding="utf-8")
  return folder


def open_ke(folder: Path, **changed: str) -> Path:
  files = {
    "entity2id": "3\nQ30\t2\nQ10\t0\nQ20\t1\n",
    "relation2id": "1\nP1\t0\n",
    "train2id": "2\n0 1 0\n1\t2\t0\n",
    "test2id": "1\n0 2 0\n",
  }
  return written(folder, **(files | changed))


def test_open_ke_has_the_relation_last(tmp_path):
  graph = read_graph(open_ke(tmp_path))
  assert list(graph.entities) == ["Q10", "Q20", "Q30"]
  assert graph.splits["train"].tolist() == [[0, 0, 1], [1, 0, 2]]
  assert graph.splits["test"].tolist() == [[0, 0, 2]]
  assert "valid" not in graph.splits


def test_plain_names_are_numbered_in_order_over_all_splits(tmp_path):
  graph = read_graph(written(tmp_path, train="Q9\tP1\tQ10\n", test="Q10\tP0\tA\n"))
  assert list(graph.entities) == ["A", "Q10", "Q9"]
  assert list(graph.relations) == ["P0", "P1"]
  assert graph.splits["train"].tolist() == [[2, 1, 1]]


def test_both_forms_are_the_same_graph(tmp_path):
  plain = read_graph(SAMPLE)
  write_ids(tmp_path / "entity2id.txt", plain.entities)
  write_ids(tmp_path / "relation2id.txt", plain.relations)
  for split, triples in plain.splits.items():
    lines = "".join(f"{h} {t} {r}\n" for h, r, t in triples)
    (tmp_path / f"{split}2id.txt").write_text(f"{len(triples)}\n{lines}")
  other = read_graph(tmp_path)
  for split, triples in plain.splits.items():
    np.testing.assert_array_equal(other.splits[split], triples)


def test_one_file_is_a_graph_to_train_on():
  graph = read_graph(SAMPLE / "train.txt")
  assert list(graph.splits) == ["train"] and len(graph.splits["train"]) == 324


def test_a_triple_that_stands_there_again_is_read_once(tmp_path):
  """As in OpenKE's WN11, in the order of the first of each."""
  with pytest.warns(UserWarning, match=r"train2id.txt: 2 of 4 triples .* first in line 4; each"):
    graph = read_graph(open_ke(tmp_path / "ke", train2id="4\n1 2 0\n0 1 0\n1 2 0\n1 2 0\n"))
  assert graph.splits["train"].tolist() == [[1, 0, 2], [0, 0, 1]]
  with pytest.warns(UserWarning, match=r"train.txt: 1 of 3 triples .* first in line 3"):
    plain = read_graph(written(tmp_path / "plain", train="b\tr\ta\na\tr\tb\nb\tr\ta\n"))
  assert plain.splits["train"].tolist() == [[1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(
  "changed, message",
  [
    ({"train2id": "3\n0 1 0\n1 2 0\n"}, "train2id.txt, line 1: 3 triples, but 2 lines"),
    ({"train2id": "two\n0 1 0\n"}, "train2id.txt, line 1: 'two'; expected the number"),
    ({"train2id": "1\n0 3 0\n"}, "train2id.txt, line 2: unknown entity 3; expected below 3"),
    ({"train2id": "2\n0 1 0\n0 1 7\n"}, "train2id.txt, line 3: unknown relation 7"),
    ({"train2id": "1\n0 1\n"}, "train2id.txt, line 2: '0 1'; expected head, tail, relation"),
    ({"train2id": "0\n"}, "no triples to train on"),
    ({"entity2id": "2\nQ1\t0\n"}, "entity2id.txt, line 1: 2 names, but 1 lines"),
    ({"entity2id": "2\nQ1\t0\nQ1\t1\n"}, "line 3: the name 'Q1' again"),
    ({"entity2id": "2\nQ1\t0\nQ2\t0\n"}, "line 3: the id 0 again"),
    ({"entity2id": "1\nQ1\t5\n"}, "line 2: 'Q1\\t5'; expected a name and an id below 1"),
    ({"entity2id": ""}, "entity2id.txt, line 1: ''; expected the number of names"),
  ],
)
def test_faults_of_open_ke_are_named(tmp_path, changed, message):
  with pytest.raises(InputError) as fault:
    read_graph(open_ke(tmp_path, **changed))
  assert message in str(fault.value) and "\n" not in str(fault.value)


@pytest.mark.parametrize(
  "text, message",
  [
    ("a\tb\n", "train.txt, line 1: 'a\\tb'; expected head, relation, tail by tabs"),
    ("a\tr\t \n", "line 1"),
    ("", "no triples to train on"),
  ],
)
def test_faults_of_plain_files_are_named(tmp_path, text, message):
  with pytest.raises(InputError) as fault:
    read_graph(written(tmp_path, train=text))
  assert message in str(fault.value)


def test_what_is_no_graph_is_refused(tmp_path):
  with pytest.raises(InputError, match=r"no such folder or file"):
    read_graph(tmp_path / "nowhere")
  with pytest.raises(InputError, match=r"neither train\.txt nor train2id\.txt"):
    read_graph(tmp_path)
  (tmp_path / "train.txt").write_bytes(b"a\tr\t\xff\n")
  with pytest.raises(InputError, match="not UTF-8"):
    read_graph(tmp_path)


def test_false_triples_have_names_of_the_graph(tmp_path):
  graph = read_graph(SAMPLE)
  path = written(tmp_path, false="Q00\teast\tQ99\n") / "false.txt"
  assert read_false(graph, path).tolist() == [[0, graph.relations.of["east"], 99]]
  path.write_text("Q00\teast\tQ99\nQ00\tup\tQ01\n")
  with pytest.raises(InputError, match=r"false\.txt, line 2: unknown 'up'"):
    read_false(graph, path)


def test_ids_are_read_as_written(tmp_path):
  write_ids(tmp_path / "ids.txt", ["/m/027rn", "名", "a b"])
  assert list(read_ids(tmp_path / "ids.txt")) == ["/m/027rn", "名", "a b"]
