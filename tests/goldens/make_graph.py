"""Makes tests/goldens/graph/pykeen.json: ranks by PyKEEN 1.11.1, which pip installs.

    python tests/goldens/make_graph.py [FOLDER_OF_GRAPHS]

The vectors are those of `vectors`; graphs of the folder are added to the sample graph.
"""

import json
import sys
from pathlib import Path

import numpy as np

from luke_jax.graph.triples import Graph, read_graph

HERE = Path(__file__).parent
SAMPLE = HERE.parent.parent / "data" / "sample_graph"
GRAPHS = ("nations", "kinship", "umls", "codex-s", "FB15K237", "WN18RR")
WIDTH = 8
OURS = {
  "mr": "arithmetic_mean_rank",
  "mrr": "inverse_harmonic_mean_rank",
  "hits_1": "hits_at_1",
  "hits_3": "hits_at_3",
  "hits_10": "hits_at_10",
}


def vectors(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
  """Returns vectors of a graph that every machine makes alike, every tenth one a copy."""
  rng = np.random.default_rng(0)
  sizes = (len(graph.entities), len(graph.relations))
  entity, relation = (rng.random((size, WIDTH)).astype(np.float32) - 0.5 for size in sizes)
  entity[::10] = entity[0]
  return entity, relation / 4


def pykeen_metrics(graph: Graph, norm: int) -> dict[str, float]:
  """Returns PyKEEN's metrics of the test triples, over both sides and apart."""
  import torch
  from pykeen.evaluation import RankBasedEvaluator
  from pykeen.models import TransE
  from pykeen.triples import CoreTriplesFactory

  mapped = {name: torch.tensor(x, dtype=torch.long) for name, x in graph.splits.items()}
  factory = CoreTriplesFactory(mapped["train"], len(graph.entities), len(graph.relations))
  model = TransE(triples_factory=factory, embedding_dim=WIDTH, scoring_fct_norm=norm)
  tables = (model.entity_representations[0], model.relation_representations[0])
  for table, own in zip(tables, vectors(graph), strict=True):
    table._embeddings.weight.data = torch.tensor(own)
  evaluator = RankBasedEvaluator(filtered=True)
  others = [x for name, x in mapped.items() if name != "test"]
  results = evaluator.evaluate(
    model, mapped["test"], additional_filter_triples=others, batch_size=32, use_tqdm=False
  )
  found = {}
  for side, end in (("both", ""), ("head", "_head"), ("tail", "_tail")):
    found |= {f"{a}{end}": results.get_metric(f"{side}.realistic.{b}") for a, b in OURS.items()}
  return found


def main() -> None:
  """Writes the file."""
  places = {"sample_graph": SAMPLE}
  if sys.argv[1:]:
    places |= {name: Path(sys.argv[1]) / name for name in GRAPHS}
  goldens: dict[str, dict[str, dict[str, float]]] = {}
  for name, place in places.items():
    graph = read_graph(place)
    goldens[name] = {str(norm): pykeen_metrics(graph, norm) for norm in (1, 2)}
  (HERE / "graph" / "pykeen.json").write_text(json.dumps(goldens, indent=1) + "\n")


if __name__ == "__main__":
  main()
