"""`luke-jax predict-masks`, `probe` and `wiki facts`: what a pretrained model knows."""

import html
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from rich.table import Table
from rich.text import Text
from tyro.conf import Positional, UseAppendAction, arg

from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.heads.kinds import class_names
from luke_jax.inference.probing import Inputs, hits, scores
from luke_jax.inference.settings import any_processor
from luke_jax.model import Model, load
from luke_jax.tasks.facts import make_facts, read_relations
from luke_jax.tasks.mask_predictions import MaskPrediction, predict_masks
from luke_jax.terminal import Console, visible
from luke_jax.training.metrics import summary_line
from luke_jax.web_page import FOOT, head

_COLOURS = {"word": "black on yellow", "entity": "black on cyan"}


def show_masks(
  directory: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  text: Annotated[str, Positional, arg(metavar="TEXT")],
  /,
  *,
  span: UseAppendAction[tuple[tuple[int, int], ...]] = (),
  top: int = 5,
  html_file: Annotated[Path | None, arg(name="html")] = None,
) -> None:
  """Shows a pretrained model's predictions for masked words and entities.

  Words are masked by `[MASK]` or `<mask>` in the text, entities by the characters of their names.

      luke-jax predict-masks luke-base "Beyoncé lives in [MASK] Angeles." --span 0 7

  Args:
    directory: Directory of a pretrained model.
    text: The text.
    span: First character of an entity and the one after its last, as often as needed.
    top: Number of predictions for each mask.
    html_file: File for the same as a page of HTML.
  """
  model = _masked_model(directory)
  predictions = predict_masks(model, any_processor(model, span), text, spans=span, top=top)
  if html_file:
    with whole(html_file) as part:
      part.write_text(_page(text, predictions), encoding="utf-8")
  console = Console()
  console.print(_marked(text, predictions), soft_wrap=True)
  for prediction in predictions:
    console.print(_guesses(text, prediction))
  if html_file:
    print(f"{html_file}: {len(predictions)} masks")


def _masked_model(directory: Path) -> Model:
  """Returns the model of a directory; raises InputError for one that predicts no masked words."""
  model = load(directory)
  if model.kind not in ("masked", "pretraining") or model.report.missing:
    masked = class_names(model.system).get("masked")
    expected = f"a whole {masked}" if masked else "another system, with masked words"
    raise InputError(f"{directory}: a {model.architecture}; expected {expected}")
  return model


def _page(text: str, predictions: Sequence[MaskPrediction]) -> str:
  """Returns a self-contained page that shows the text and the predictions."""
  tables = "\n".join(_html_table(text, prediction) for prediction in predictions)
  return f"{head(text[:60])}<p>{_html_text(text, predictions)}</p>\n{tables}\n{FOOT}"


def _marked(text: str, predictions: Sequence[MaskPrediction]) -> Text:
  marked = Text(visible(text))
  for prediction in sorted(predictions, key=lambda prediction: prediction.kind):
    marked.stylize(_COLOURS[prediction.kind], *prediction.characters)
  return marked


def _guesses(text: str, prediction: MaskPrediction) -> Table:
  table = Table()
  table.add_column(Text(visible(_named(text, prediction))))
  table.add_column("")
  for guess in prediction.guesses:
    table.add_row(Text(visible(guess.name)), f"{guess.probability:.3f}")
  return table


def _named(text: str, prediction: MaskPrediction) -> str:
  start, end = prediction.characters
  return f"{prediction.kind} at {start} {end}: {text[start:end]}"


def _html_text(text: str, predictions: Sequence[MaskPrediction]) -> str:
  """Returns the text with its masks marked; of entities that overlap, only the first."""
  parts, done = [], 0
  for prediction in sorted(predictions, key=lambda prediction: prediction.characters):
    start, end = prediction.characters
    if start >= done:
      parts.append(html.escape(text[done:start]))
      inside = html.escape(text[start:end])
      parts.append(f'<mark class="{prediction.kind}">{inside}</mark>')
      done = end
  return "".join([*parts, html.escape(text[done:])])


def _html_table(text: str, prediction: MaskPrediction) -> str:
  rows = "\n".join(
    f"<tr><td>{html.escape(guess.name)}</td><td>{guess.probability:.3f}</td>"
    f'<td class="bar"><div style="width: {100 * guess.probability:.1f}%"></div></td></tr>'
    for guess in prediction.guesses
  )
  return f"<h2>{html.escape(_named(text, prediction))}</h2>\n<table>\n{rows}\n</table>"


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
  model, relations = _masked_model(directory), read_relations(folder)
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
