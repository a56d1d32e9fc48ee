"""`luke-jax graph train` and `evaluate`."""

import json
from typing import Annotated, Literal

from rich.table import Table
from tyro.conf import Positional, UseAppendAction, arg

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.graph.vectors import folder_norm
from luke_jax.terminal import Console


def graph_train(
  graph: Annotated[Path, Positional, arg(metavar="GRAPH|EXPERIMENT")],
  /,
  *,
  output: Path,
  set: UseAppendAction[tuple[str, ...]] = (),
  text: bool = False,
) -> None:
  """Trains vectors of a graph's entities and relations; the same command resumes a run.

  GRAPH is a folder of OpenKE, a folder of train.txt, valid.txt and test.txt with lines
  head<TAB>relation<TAB>tail, or one such file. The vectors lie in OUTPUT/vectors. The last line
  printed is a summary in JSON.

      luke-jax graph train data/sample_graph --output runs/grid

  Args:
    graph: The graph, or an experiment file.
    output: Folder for checkpoints, metrics, the config and the vectors.
    set: A field by its dotted name and its value, such as model.hidden_size=64.
    text: Write the vectors as lines of numbers too, entity2vec.vec and relation2vec.vec.
  """
  # Imported here, since `evaluate` needs no training.
  from luke_jax.runs import training
  from luke_jax.runs.recipes import read_experiment
  from luke_jax.systems.transe.graphs import graph_experiment, write_run_vectors
  from luke_jax.training.experiment import describe
  from luke_jax.training.experiment_files import is_experiment_file
  from luke_jax.training.metrics import summary_line
  from luke_jax.training.overrides import override

  if is_experiment_file(graph):
    experiment = read_experiment(graph, set)
  else:
    experiment = override(graph_experiment(graph), set)
  print(describe(experiment))
  summary = training.run(experiment, output)
  if summary["status"] == "done":
    summary["vectors"] = str(write_run_vectors(output, experiment, text=text))
  print(summary_line(summary))


def graph_evaluate(
  graph: Annotated[Path, Positional, arg(metavar="GRAPH")],
  /,
  *,
  vectors: Path,
  norm: Literal[1, 2] | None = None,
  split: Literal["test", "valid", "train"] = "test",
  raw: bool = False,
) -> None:
  """Ranks the true heads and tails of a graph's triples among all entities, by their vectors.

  The vectors may be made elsewhere: a folder with entity2id.txt, relation2id.txt, entity2vec.vec
  and relation2vec.vec. Other true answers are left out, and ties count as the mean of the best and
  the worst rank. The last line printed has all figures in JSON, as fractions.

      luke-jax graph evaluate kg/FB15K237 --vectors runs/fb15k-237/vectors

  Args:
    graph: Folder or file of triples.
    vectors: Folder of the vectors.
    norm: Norm of the distance; by default the one the vectors were trained with.
    split: Triples that are ranked.
    raw: Keep other true answers in the ranks.
  """
  from luke_jax.systems.transe.graphs import evaluate
  from luke_jax.systems.transe.ranking import HITS, SIDES

  chosen = norm or folder_norm(vectors)
  if chosen is None:
    raise InputError(f"--norm: missing, and {vectors} does not say it; expected 1 or 2")
  scores = evaluate(graph, vectors, chosen, split=split, raw=raw)
  table = Table("", "MR", "MRR", *(f"Hits@{k}" for k in HITS))
  for name, end in (("both", ""), *((side, f"_{side}") for side in SIDES)):
    shares = [scores[f"{key}{end}"] for key in ("mrr", *(f"hits_{k}" for k in HITS))]
    table.add_row(name, f"{scores[f'mr{end}']:.1f}", *(f"{share:.4f}" for share in shares))
  Console().print(table)
  if "classification" in scores:
    print(f"true or false, accuracy: {scores['classification']:.4f}")
  print(json.dumps({name: round(x, 6) for name, x in scores.items()}))
