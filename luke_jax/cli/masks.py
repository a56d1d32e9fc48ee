"""`luke-jax predict-masks`."""

import html
from collections.abc import Sequence
from typing import Annotated

from rich.table import Table
from rich.text import Text
from tyro.conf import Positional, UseAppendAction, arg

from luke_jax.errors import InputError
from luke_jax.files import Path, write_text
from luke_jax.heads.kinds import class_names
from luke_jax.inference.settings import any_processor
from luke_jax.model import Model, load
from luke_jax.tasks.mask_predictions import MaskPrediction, predict_masks
from luke_jax.terminal import Console, visible
from luke_jax.web_page import FOOT, head, marked

_COLOURS = {"word": "black on yellow", "entity": "black on cyan"}


def run(
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
  model = masked_model(directory)
  predictions = predict_masks(model, any_processor(model, span), text, spans=span, top=top)
  if html_file:
    write_text(html_file, _page(text, predictions))
  console = Console()
  console.print(_shown(text, predictions), soft_wrap=True)
  for prediction in predictions:
    table = Table()
    table.add_column(Text(visible(_named(text, prediction))))
    table.add_column("")
    for guess in prediction.guesses:
      table.add_row(Text(visible(guess.name)), f"{guess.probability:.3f}")
    console.print(table)
  if html_file:
    print(f"{html_file}: {len(predictions)} masks")


def masked_model(directory: Path) -> Model:
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
  in_order = sorted(predictions, key=lambda prediction: prediction.characters)
  body = marked(text, ((*x.characters, f'class="{x.kind}"') for x in in_order))
  return f"{head(text[:60])}<p>{body}</p>\n{tables}\n{FOOT}"


def _shown(text: str, predictions: Sequence[MaskPrediction]) -> Text:
  shown = Text(visible(text))
  for prediction in sorted(predictions, key=lambda prediction: prediction.kind):
    shown.stylize(_COLOURS[prediction.kind], *prediction.characters)
  return shown


def _named(text: str, prediction: MaskPrediction) -> str:
  start, end = prediction.characters
  return f"{prediction.kind} at {start} {end}: {text[start:end]}"


def _html_table(text: str, prediction: MaskPrediction) -> str:
  rows = "\n".join(
    f"<tr><td>{html.escape(guess.name)}</td><td>{guess.probability:.3f}</td>"
    f'<td class="bar"><div style="width: {100 * guess.probability:.1f}%"></div></td></tr>'
    for guess in prediction.guesses
  )
  return f"<h2>{html.escape(_named(text, prediction))}</h2>\n<table>\n{rows}\n</table>"
