"""FewRel with a graph: made of originals of a few lines, and what the experiment does with them."""

import json

import numpy as np
import pytest

from data.few_rel.make import main
from experiments.few_rel_dealt import main as deal
from luke_jax.formats.files import Faults
from luke_jax.graph.triples import Ids, read_graph
from luke_jax.graph.vectors import Vectors, open_vectors, write_vectors
from luke_jax.tasks.relations.files import read


def sentence(number):
  """A sentence of Q1 or Q2 and an entity that no graph has; the first one of Q1 and Q2."""
  tail = "Q2" if number == 0 else f"Q{number + 100}"
  head = "Q1" if number % 2 == 0 else "Q2"
  return {"tokens": ["Ana", "bore", "Bo"], "h": ["ana", head, [[0]]], "t": ["bo", tail, [[2]]]}


@pytest.fixture
def originals(tmp_path):
  files = {
    "fewrel/val_wiki.json": json.dumps({"P25": [sentence(number) for number in range(700)]}),
    "FB15K237/mid2wikidata.tsv": "/m/1\tQ1\tAna\n/m/3\tQ3\tCy\n",
    "FB15K237/entity2id.txt": "3\n/m/1\t0\n/m/2\t1\n/m/3\t2\n",
    "FB15K237/relation2id.txt": "1\n/knows\t0\n",
    "FB15K237/train2id.txt": "2\n0 2 0\n0 1 0\n",  # /m/2 has no item
    "FB15K237/valid2id.txt": "0\n",
    "FB15K237/test2id.txt": "1\n2 0 0\n",
    "codex-s/train.txt": "Q2\tP1\tQ1\nQ2\tP1\tQ3\n",  # the first is what FewRel asks
    "codex-s/valid.txt": "",
    "codex-s/test.txt": "Q3\tP1\tQ4\n",
  }
  for name, text in files.items():
    path = tmp_path / "originals" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
  return tmp_path / "originals"


def test_a_graph_without_the_facts_that_are_asked(originals, tmp_path, capsys, monkeypatch):
  monkeypatch.setattr("data.few_rel.make.VALID", 1)
  main(originals, tmp_path)
  graph = read_graph(tmp_path / "graph")
  names = {(graph.entities[h], graph.relations[r], graph.entities[t]) for h, r, t in graph.all}
  assert names == {
    ("Q1", "/knows", "Q3"),
    ("Q3", "/knows", "Q1"),
    ("Q2", "P1", "Q3"),
    ("Q3", "P1", "Q4"),
  }
  found = json.loads(capsys.readouterr().out)
  assert (found["triples"], found["left out"], found["entities"]) == (4, 1, 701)
  texts = {}
  for split, count in (("train", 100), ("dev", 20), ("test", 150)):
    examples = read(tmp_path / f"{split}.json", Faults())
    assert len(examples) == count
    texts[split] = {example.links[1].entity for example in examples}
  assert not texts["train"] & texts["test"]


def test_dealt_vectors_are_those_of_others(tmp_path):
  table = np.arange(12, dtype=np.float32).reshape(6, 2)
  ids = Ids([f"Q{i}" for i in range(6)])
  relations = Vectors(Ids(["P1"]), np.zeros((1, 2), np.float32))
  write_vectors(tmp_path / "vectors", (Vectors(ids, table), relations), {"norm": 1}, text=False)
  deal(tmp_path / "vectors", tmp_path / "dealt", 1)
  dealt = open_vectors(tmp_path / "dealt")
  assert list(dealt.ids) == list(ids)
  assert sorted(map(tuple, dealt.table)) == sorted(map(tuple, table))
  assert not np.array_equal(dealt.table, table)
