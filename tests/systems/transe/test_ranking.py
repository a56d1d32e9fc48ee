"""Ranks: PyKEEN's, ties included, on one device and on several."""

import dataclasses
import functools
import json
import os
from pathlib import Path

import jax
import numpy as np
import pytest

from luke_jax.graph.triples import read_graph
from luke_jax.systems.transe import ranking
from luke_jax.systems.transe.records import KnownTriples
from luke_jax.training.mesh import MeshShape, make_mesh

ROOT = Path(__file__).parents[3]
GOLDENS = json.loads((ROOT / "tests/goldens/graph/pykeen.json").read_text())
DATA = Path(os.environ.get("LUKE_JAX_REAL_DATA", ROOT.parent / "shared" / "data"))
REAL = [name for name in GOLDENS if name != "sample_graph"]


def make_graph():
  """The script that made the goldens."""
  import importlib.util

  spec = importlib.util.spec_from_file_location("make_graph", ROOT / "tests/goldens/make_graph.py")
  module = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(module)
  return module


vectors = make_graph().vectors


def ranked(graph, norm):
  ranks = ranking.ranks(vectors(graph), graph.split("test"), KnownTriples(graph.all), norm)
  return ranking.metrics(ranks)


def place(name):
  folder = DATA / "siblings" / "kg" / name
  if not folder.is_dir():
    pytest.skip(f"no {folder}")
  return folder


@pytest.fixture(scope="module")
def sample():
  return read_graph(ROOT / "data" / "sample_graph")


@pytest.mark.parametrize("norm", [1, 2])
def test_ranks_are_pykeens(sample, norm, monkeypatch):
  monkeypatch.setattr(ranking, "BLOCK", 32)  # of 100 entities, so that the last block is cut
  found, expected = ranked(sample, norm), GOLDENS["sample_graph"][str(norm)]
  assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("width", [1, 8, 20])
@pytest.mark.parametrize("norm", [1, 2])
def test_copies_of_a_vector_are_as_near_as_it(width, norm):
  rng = np.random.default_rng(0)
  entity, relation = (rng.random((size, width)).astype(np.float32) for size in (100, 5))
  entity[::3] = entity[0]
  triples = rng.integers(0, (100, 5, 100), (60, 3))

  def rank(query, true):
    away = np.linalg.norm(query - entity, norm, axis=1)
    return 1 + (away < away[true]).sum() + ((away == away[true]).sum() - 1) / 2

  e, r = entity.astype(np.float64), relation.astype(np.float64)
  expected = [(rank(e[t] - r[k], h), rank(e[h] + r[k], t)) for h, k, t in triples]
  found = ranking.ranks((entity, relation), triples, None, norm)
  # One entity more or less is nearer where distances differ by a rounding.
  assert np.abs(found - expected).max() <= 1


@pytest.mark.real_data
@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("norm", [1, 2])
def test_ranks_of_real_graphs_are_pykeens(name, norm):
  found, expected = ranked(read_graph(place(name)), norm), GOLDENS[name][str(norm)]
  assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-6)


@pytest.mark.parity
def test_ranks_are_those_of_pykeen_as_installed(sample):
  pytest.importorskip("pykeen", reason="compares with PyKEEN where someone has it")
  for norm in (1, 2):
    expected = make_graph().pykeen_metrics(sample, norm)
    found = ranked(sample, norm)
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-6)


@pytest.mark.real_data
def test_the_golden_numbers_of_nations():
  def filler(shape, c):
    return (0.5 * np.sin(0.37 * np.arange(np.prod(shape)) + c)).reshape(shape)

  graph = read_graph(place("nations"))
  tables = filler((14, 5), 0.3), filler((55, 5), 1.3)
  expected = {
    (1, True): {"mr": 4.592040, "mrr": 0.350928, "hits_1": 0.111940, "hits_3": 0.452736}
    | {"hits_10": 0.940299, "mrr_tail": 0.355208},
    (2, True): {"mr": 4.626866, "mrr": 0.347535, "hits_3": 0.445274, "mrr_tail": 0.349809},
    (1, False): {"mr": 7.567164, "mrr": 0.222028, "hits_10": 0.699005},
  }
  for (norm, filtered), figures in expected.items():
    known = KnownTriples(graph.all) if filtered else None
    found = ranking.metrics(ranking.ranks(tables, graph.split("test"), known, norm))
    assert {name: found[name] for name in figures} == pytest.approx(figures, abs=1e-6)


def test_a_spread_table_gives_the_same_counts(sample):
  entity, relation = vectors(sample)
  padded = np.concatenate([entity, np.zeros((28, entity.shape[1]), np.float32)])
  batch = ranking.ranked_arrays(sample.split("test"), KnownTriples(sample.all), len(entity))
  setting = ranking.RankingSetting(1, len(entity))
  alone = jax.jit(functools.partial(ranking.counted, setting=setting))(entity, relation, batch)
  mesh = make_mesh(MeshShape(), jax.devices()[:4])
  with jax.set_mesh(mesh):
    spread = jax.device_put(padded, jax.NamedSharding(mesh, jax.P("data")))
    run = functools.partial(ranking.counted, setting=dataclasses.replace(setting, axis="data"))
    np.testing.assert_array_equal(jax.jit(run)(spread, relation, batch), alone)


def test_equal_vectors_share_the_mean_of_their_ranks(sample):
  entity, relation = (np.zeros_like(table) for table in vectors(sample))
  ranks = ranking.ranks((entity, relation), sample.split("test"), None, 2)
  assert (ranks == (1 + len(entity)) / 2).all()


def test_metrics_are_over_both_sides_and_apart():
  found = ranking.metrics(np.array([[1, 4], [2.5, 20]]))
  assert found["mr"] == 27.5 / 4 and found["mr_head"] == 1.75
  assert found["mrr_tail"] == pytest.approx((1 / 4 + 1 / 20) / 2)
  assert (found["hits_1"], found["hits_3"], found["hits_10"]) == (0.25, 0.5, 0.75)
