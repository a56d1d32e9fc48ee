"""Vectors of graphs: experiments for a graph, the vectors of a run, and what they score."""

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.graph.triples import Graph, read_false, read_graph
from luke_jax.graph.vectors import PARTS, Vectors, open_vectors, write_vectors
from luke_jax.pipeline.batches import Data
from luke_jax.systems.transe import TransEConfig, ranking
from luke_jax.systems.transe.records import KnownTriples, read_source
from luke_jax.systems.transe.task import LinkPrediction
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.export import read_run
from luke_jax.training.loop import Summary
from luke_jax.training.optimizer import Optimizer, Schedule

VECTORS = "vectors"  # in a run's folder
NEGATIVES = "{}_negatives.txt"  # false triples beside a split, as CoDEx has them


def graph_experiment(place: Path) -> Experiment:
  """Returns the recipe for a graph, of a size that a CPU trains in minutes."""
  source = read_source(str(place))
  return Experiment(
    model=TransEConfig(source.entities, len(source.graph.relations), hidden_size=128),
    task=LinkPrediction(graph=str(place), chunk=128),
    data=Data(batch_size=8, evaluation_batch_size=1),
    optimizer=adam(learning_rate=1e-2),
    schedule=Schedule(warmup_ratio=0.0),
    run=Run(epochs=100, best_metric="mrr"),
  )


def adam(learning_rate: float) -> Optimizer:
  """Returns Adam as the recipe's authors have it: without decay of weights."""
  return Optimizer(learning_rate, 0.9, 0.999, 1e-8, weight_decay=0.0, bias_correction=True)


def write_run_vectors(folder: Path, experiment: Experiment, *, text: bool) -> Path:
  """Writes the vectors of a run's best checkpoint into its folder; returns their place."""
  if not isinstance(experiment.task, LinkPrediction):
    kind = type(experiment.task).__name__
    raise InputError(f"task: {kind}; expected LinkPrediction, whose run has vectors of a graph")
  _, step, params = read_run(folder, experiment)
  graph = read_source(experiment.task.graph).graph
  ids = (graph.entities, graph.relations)
  vectors = [
    Vectors(names, np.asarray(params[part])) for names, part in zip(ids, PARTS, strict=True)
  ]
  config = {"model": "transe", "norm": experiment.model.norm, "step": step}
  write_vectors(folder / VECTORS, (vectors[0], vectors[1]), config, text=text)
  return folder / VECTORS


def evaluate(
  place: Path, folder: Path, norm: int, *, split: str = "test", raw: bool = False
) -> Summary:
  """Returns the ranks' metrics of a split of a graph, by the vectors of a folder.

  With a valid split also the accuracy of telling true from false triples.
  """
  graph = read_graph(place)
  triples = graph.split(split)
  vectors = graph_vectors(graph, folder)
  facts = None if raw else KnownTriples(graph.all)
  scores = ranking.metrics(ranking.ranks(vectors, triples, facts, norm))
  if split == "test" and len(graph.splits.get("valid", ())):
    scores["classification"] = _accuracy(graph, place, vectors, norm)
  return scores


def graph_vectors(graph: Graph, folder: Path) -> tuple[np.ndarray, np.ndarray]:
  """Returns the vectors of a graph's entities and relations, in the order of its ids."""
  opened = [open_vectors(folder, part) for part in PARTS]
  names = (graph.entities, graph.relations)
  tables = [vectors.rows(list(ids)) for vectors, ids in zip(opened, names, strict=True)]
  if tables[0].shape[1] != tables[1].shape[1]:
    widths = " and ".join(str(table.shape[1]) for table in tables)
    raise InputError(f"{folder}: entities and relations are {widths} wide; expected the same width")
  return tables[0], tables[1]


def _accuracy(graph: Graph, place: Path, vectors: tuple, norm: int) -> float:
  """Returns the accuracy on test and as many false triples, given or drawn."""
  splits = []
  for seed, split in enumerate(("valid", "test")):
    true, path = graph.splits[split], place / NEGATIVES.format(split)
    has_file = path.is_file()
    false = read_false(graph, path) if has_file else ranking.corrupted(graph, true, seed)
    triples = np.concatenate([true, false])
    distances = ranking.triple_distances(vectors, triples, norm)
    splits.append((triples[:, 1], distances, np.arange(len(triples)) < len(true)))
  return ranking.accuracy(splits[0], splits[1])
