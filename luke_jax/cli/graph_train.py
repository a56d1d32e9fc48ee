"""`luke-jax graph train`."""

from typing import Annotated

from tyro.conf import Positional, UseAppendAction, arg

from luke_jax.files import Path
from luke_jax.runs import training
from luke_jax.runs.graphs import graph_experiment, write_run_vectors
from luke_jax.runs.recipes import read_experiment
from luke_jax.training.metrics import summary_line
from luke_jax.training.overrides import override
from luke_jax.training.saved_configs import describe


def run(
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
    graph: The graph, or a Python file with a function `config()` that returns an Experiment.
    output: Folder for checkpoints, metrics, the config and the vectors.
    set: A field by its dotted name and its value, such as model.hidden_size=64.
    text: Write the vectors as lines of numbers too, entity2vec.vec and relation2vec.vec.
  """
  if graph.suffix == ".py":
    experiment = read_experiment(graph, set)
  else:
    experiment = override(graph_experiment(graph), set)
  print(describe(experiment))
  summary = training.run(experiment, output)
  if summary["status"] == "done":
    summary["vectors"] = str(write_run_vectors(output, experiment, text=text))
  print(summary_line(summary))
