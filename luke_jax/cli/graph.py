"""`luke-jax graph train`, `evaluate` and `align`."""

import json
from typing import Annotated, Literal

import numpy as np
from rich.table import Table
from rich.text import Text
from tyro.conf import Positional, UseAppendAction, arg

from luke_jax.convert.reading import read
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place, is_file_in, whole
from luke_jax.graph.vectors import folder_norm
from luke_jax.runs.models import model_directory
from luke_jax.systems.ernie_thu.aligning import (
  JSON,
  AlignedTexts,
  LinkedText,
  aligned_texts,
  marked_text,
  read_linked_texts,
)
from luke_jax.terminal import Console
from luke_jax.text.alignment import Alignment
from luke_jax.wiki.mentions import MentionLinker


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
  from luke_jax.systems.transe.task import graph_experiment, write_run_vectors
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
  from luke_jax.systems.transe.ranking import HITS, SIDES
  from luke_jax.systems.transe.task import evaluate

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


ARRAYS = ".npz"


def graph_align(
  directory: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  source: Annotated[str, Positional, arg(metavar="TEXT|FILE")],
  /,
  *,
  vectors: Path,
  wiki: Path | None = None,
  titles: Path | None = None,
  threshold: float = 0.0,
  alignment: Alignment = "first",
  output: Path | None = None,
) -> None:
  """Puts entities of a graph beside the words of texts, as an ERNIE of Tsinghua reads them.

  A text has its links marked, `[Jim Henson](Q191037) was a puppeteer.`, or a wiki finds them. A
  file has a text on each line or, as .jsonl, objects with `text` and `links`. It prints what each
  link is aligned to, or writes it; the last line printed counts in JSON.

      luke-jax graph align ernie "[Jim Henson](Q191037) was a puppeteer." --vectors kg_embed

  Args:
    directory: Directory of the model.
    source: A text or a file of texts.
    vectors: Folder of the entities' vectors.
    wiki: Folder of luke-jax wiki build and luke-jax wiki mentions, to link texts without links.
    titles: With --wiki, a file with a title, a tab and a Qid on each line, or Wikidata's dump.
    threshold: The score above which a link is read.
    alignment: Word pieces of a mention that its entity is beside.
    output: File to write: the inputs of the model as .npz, or the texts with their links as .jsonl.
  """
  if output is not None:
    check_place(output)
    if output.suffix not in (ARRAYS, JSON):
      raise InputError(f"--output: {output}; expected a name that ends in {ARRAYS} or {JSON}")
  if (wiki is None) != (titles is None):
    raise InputError("--wiki, --titles: one without the other; expected both or none")
  texts = _texts(source)
  if wiki is not None and titles is not None:
    link = MentionLinker.of(wiki, titles)
    texts = [x if x.links else LinkedText(x.text, tuple(link(x.text))) for x in texts]
  model = read(model_directory(directory))
  split = [x.text for x in texts], [x.links for x in texts]
  aligned = aligned_texts(model, *split, vectors=vectors, threshold=threshold, alignment=alignment)
  if output is None:
    Console().print(_table(aligned))
  else:
    _write(aligned, output)
  print(json.dumps(_counts(aligned) | ({"file": str(output)} if output else {})))


def _texts(source: str) -> list[LinkedText]:
  if is_file_in(source, "a text or a file of texts"):
    texts = list(read_linked_texts(Path(source)))
  else:
    texts = [marked_text(source)] if source.strip() else []
  if not texts:
    raise InputError(f"{source or 'the text'}: no text; expected one at least")
  return texts


def _table(aligned: AlignedTexts) -> Table:
  table = Table("text", "entity", "mention", "beside the piece", box=None)
  for number, (text, links) in enumerate(zip(aligned.texts, aligned.links, strict=True), start=1):
    for link, pieces in zip(links, aligned.pieces(number - 1), strict=True):
      mention = Text(text[link.start : link.end])
      beside = " ".join(pieces) or f"({aligned.reason(link)})"
      table.add_row(str(number), Text(link.entity), mention, Text(beside))
  return table


def _counts(aligned: AlignedTexts) -> dict[str, int]:
  links = [link for of_one in aligned.links for link in of_one]
  vectors = aligned.aligner.vectors.ids.of
  return {
    "texts": len(aligned.texts),
    "links": len(links),
    "aligned": sum(bool(x) for number in range(len(aligned.texts)) for x in aligned.pieces(number)),
    "without a vector": sum(link.entity not in vectors for link in links),
  }


def _write(aligned: AlignedTexts, output: Path) -> None:
  with whole(output) as part:
    if output.suffix == ARRAYS:
      with part.open("wb") as file:
        np.savez(file, allow_pickle=False, **aligned.arrays())
      return
    with part.open("w", encoding="utf-8") as file:
      for text, links in zip(aligned.texts, aligned.links, strict=True):
        value = {"text": text, "links": [list(link) for link in links]}
        file.write(json.dumps(value, ensure_ascii=False) + "\n")
