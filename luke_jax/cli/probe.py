"""`luke-jax probe` and `luke-jax wiki facts`."""

from typing import Annotated

import numpy as np
from rich.console import Console
from rich.table import Table
from tyro.conf import Positional, arg

from luke_jax.cli.predict_masks import masked_model
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.inference.probing import Inputs, hits, scores
from luke_jax.tasks.facts import make_facts, read_relations
from luke_jax.training.metrics import summary_line


def probe(
  directory: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  folder: Annotated[Path, Positional, arg(metavar="FOLDER")],
  /,
  *,
  entities: Inputs = "none",
  language: str | None = None,
) -> None:
  """Scores what a pretrained model knows, by cloze questions about facts.

  FOLDER has templates.jsonl and a file of facts for each relation, as mLAMA has them for a
  language and `luke-jax wiki facts` makes them. All objects of a relation are ranked, by the mean
  log probability of their pieces. The last line is the scores over all facts in JSON, with the
  means over relations (macro).

      luke-jax probe mluke-base facts/de

  Args:
    directory: Directory of a pretrained model.
    folder: Folder of facts in one language.
    entities: Whether the subject is an entity too: as [MASK], or that of its title. Then the object
      is one, and the scores of entities rank the objects as well.
    language: Language of the titles, for a model that knows entities in several.
  """
  model, relations = masked_model(directory), read_relations(folder)
  table = Table()
  for name in ("relation", "template", "facts", "hits@1", "mrr"):
    table.add_column(name)
  by_words, by_entities = [], []
  for relation in relations:
    words, of_entities = scores(model, relation, entities=entities, language=language).ranks
    by_words.append(words)
    by_entities += [of_entities] if of_entities.any() else []
    figures = (f"{hits(words)[name]:.3f}" for name in ("hits@1", "mrr"))
    table.add_row(relation.name, relation.template, f"{len(words):,}", *figures)
  Console().print(table)
  summary = _figures(by_words)
  if entities != "none":
    summary |= {f"entity_{name}": x for name, x in _figures(by_entities).items()}
  print(summary_line(summary))


def _figures(of_relations: list[np.ndarray]) -> dict[str, float]:
  """Returns scores over all facts that have a rank, and their means over relations."""
  every = np.concatenate([*of_relations, np.zeros(0)])
  single = [hits(x) for x in of_relations] or [hits(every)]
  macro = {f"macro_{name}": float(np.mean([x[name] for x in single])) for name in single[0]}
  return {**hits(every), **macro, "facts": int((every > 0).sum()), "relations": len(of_relations)}


def facts(
  dump: Annotated[Path, Positional, arg(metavar="WIKIDATA")],
  /,
  *,
  templates: Path,
  output: Path,
  language: str = "en",
  wiki: str | None = None,
  most: int = 1000,
) -> None:
  """Makes facts to ask a pretrained model about, of a JSON dump of Wikidata, which is CC0.

  Of each relation that has a template these are the pairs of items that both have a page in the
  wiki, in the form of mLAMA.

      luke-jax wiki facts latest-all.json.bz2 --templates experiments/mluke/templates_de.jsonl \\
        --language de --output facts/de

  Args:
    dump: JSON dump of Wikidata, plain or compressed.
    templates: File of JSON lines with a relation, such as P36, and its template with [X] and [Y].
    output: Folder for the facts and the templates.
    language: Language of the names.
    wiki: Wiki of the pages, as sitelinks name it; by default the Wikipedia of the language.
    most: Number of facts of a relation that are kept at most.
  """
  if most < 1:
    raise InputError(f"--most: {most}; expected a whole number from 1")
  counts = make_facts(dump, templates, output, language, wiki=wiki or f"{language}wiki", most=most)
  print(summary_line({**counts, "output": str(output)}))
