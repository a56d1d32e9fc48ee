"""The attention of one sentence, words and entities."""

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.show.drawn_text import text_width
from luke_jax.show.picture import Picture
from luke_jax.text import Example, LukeProcessor, Row

if TYPE_CHECKING:
  from luke_jax.model import Model

KINDS = ("word", "entity")
HUES = {("word", "word"): 210, ("word", "entity"): 30}
HUES |= {("entity", "word"): 130, ("entity", "entity"): 290}
CELL, LETTERS = 20, 12.0
MOST = 64  # tokens in one picture
LONGEST = 18  # letters of a name beside its cells; the cells have it whole
STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)


class Attention(NamedTuple):
  """What each token of a text reads of each: words first, then entities."""

  words: list[str]
  entities: list[str]
  weights: np.ndarray  # (T, T): from asking token to asked one, 1 in every row


def attention(
  model: "Model",
  text: str,
  spans: Sequence[Any] = (),
  *,
  layer: int = -1,
  head: int | None = None,
) -> Picture:
  """What each word and entity of a text reads of which: a map for each kind of query (paper §3.2).

  `spans` are (start, end), or (start, end, title) for an entity of the vocabulary. Without `head`
  it is the mean of a layer's heads. Layers count from 0, or from -1, the last.
  """
  found = attention_of(model, text, spans, layer=layer, head=head)
  if len(found.weights) > MOST:
    raise InputError(f"text: {len(found.weights)} tokens; expected at most {MOST} to be drawn")
  most = float(found.weights.max())
  layers = model.config.num_hidden_layers
  which = "mean of its heads" if head is None else f"head {head}"
  about = f"Layer {layer % layers} of {layers}, {which}. Rows ask, columns are asked; each row"
  about += " sums to 1 over words and entities."
  if getattr(model.config, "use_entity_aware_attention", False):
    maps = [_map(found, asking, asked, most) for asking in KINDS for asked in KINDS]
  else:
    about += " One kind of query serves words and entities."
    maps = [_whole_map(found, most)]
  columns = "two-columns" if found.entities and len(maps) > 1 else ""
  body = f'<p class="note">{about}</p>{_scale(most)}<div class="{columns}">{"".join(maps)}</div>'
  return Picture(body, text[:60])


def attention_of(
  model: "Model", text: str, spans: Sequence[Any] = (), *, layer: int = -1, head: int | None = None
) -> Attention:
  """The numbers that `attention` draws."""
  from luke_jax.inference.settings import any_processor  # other pictures need no jax

  config = model.config
  _check_number("layer", layer, config.num_hidden_layers)
  if head is not None:
    _check_number("head", head, config.num_attention_heads)
  processor = any_processor(model, spans)
  titles = [span[2] for span in spans if len(span) == 3]
  if titles and len(titles) < len(spans):
    raise InputError(f"spans: {len(titles)} of {len(spans)} with a title; expected all or none")
  places = [tuple(span[:2]) for span in spans]
  example = Example(text, entity_spans=places or None, entities=titles or None)
  (row,) = processor.encode([example], offsets=True)
  inputs: dict[str, Any] = {**processor.pad([row])}
  outputs = model(**inputs, output_attentions=True)
  heads = np.asarray(outputs["attentions"][layer, 0], np.float32)
  weights = heads.mean(0) if head is None else heads[head]
  names = titles or [text[slice(*entity.characters)] for entity in row.entities or ()]
  return Attention(_words(row, text, processor), list(names), weights)


def _check_number(name: str, number: int, count: int) -> None:
  if not isinstance(number, int) or not -count <= number < count:
    raise InputError(f"{name}: {number!r}; expected a whole number from {-count} to {count - 1}")


def _words(row: Row, text: str, processor: LukeProcessor) -> list[str]:
  """What the tokens stand for: characters of the text, or the names of special tokens."""
  special = processor.tokenizer.special.names
  return [
    special.get(id) or text[max(start, 0) : max(end, 0)] or "▁"
    for id, (start, end) in zip(row.input_ids, row.offsets, strict=True)
  ]


def _map(found: Attention, asking: str, asked: str, most: float) -> str:
  """The map of one kind of query; none without entities, if it is about them."""
  words = len(found.words)
  parts = {"word": slice(words), "entity": slice(words, None)}
  names = {"word": found.words, "entity": found.entities}
  if not names[asking] or not names[asked]:
    return ""
  weights = found.weights[parts[asking], parts[asked]]
  plural = {"word": "words", "entity": "entities"}
  note = f"{weights.sum(1).mean():.0%} of what {plural[asking]} read"
  grid = _grid(found, weights, (names[asking], names[asked]), most)
  return _figure(f"{asking} → {asked}", note, grid, HUES[asking, asked])


def _whole_map(found: Attention, most: float) -> str:
  names = [*found.words, *found.entities]
  note = "words, then entities" if found.entities else "words"
  return _figure("token → token", note, _grid(found, found.weights, (names, names), most), 210)


def _figure(title: str, note: str, grid: str, hue: int) -> str:
  title = f"<h3>{title}</h3>"
  style = f'style="--hue: {hue}"'
  return f'<figure {style}>{title}<p class="note">{note}</p><div class="wide">{grid}</div></figure>'


def _grid(
  found: Attention, weights: np.ndarray, names: tuple[Sequence[str], Sequence[str]], most: float
) -> str:
  """Cells beside and under the names of what they are about."""
  rows, columns = names
  # As much room in every map, so that maps side by side are in line.
  widths = (text_width(_short(name), LETTERS) for name in (*found.words, *found.entities))
  left = top = 10 + 1.1 * max(widths)
  width, height = CELL * len(columns), CELL * len(rows)
  parts = [f'<g transform="translate({left:.0f} {top:.0f})">']
  for number, name in enumerate(rows):
    place = f'x="-6" y="{CELL * number + 14}" text-anchor="end"'
    parts.append(f'<text class="quiet" {place}>{html.escape(_short(name))}</text>')
  for number, name in enumerate(columns):
    place = f'transform="translate({CELL * number + 14} -6) rotate(-90)"'
    parts.append(f'<text class="quiet" {place}>{html.escape(_short(name))}</text>')
  for (y, x), weight in np.ndenumerate(weights):
    told = f"<title>{html.escape(f'{rows[y]} → {columns[x]}')}: {weight:.3f}</title>"
    parts.append(_cell(CELL * x, CELL * y, float(weight) / most, told))
  parts.append(f'<rect class="frame" width="{width}" height="{height}"/></g>')
  size = f'width="{left + width + 2:.0f}" height="{top + height + 2:.0f}"'
  return f"<svg {size}>{''.join(parts)}</svg>"


def _short(name: str) -> str:
  return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _cell(x: float, y: float, share: float, told: str = "") -> str:
  """A cell, as dark as the root of its share, so that small ones can be seen too."""
  place = f'x="{x + 0.5}" y="{y + 0.5}" width="{CELL - 1}" height="{CELL - 1}"'
  return f'<rect class="cell" {place} fill-opacity="{max(share, 0.0) ** 0.5:.3f}">{told}</rect>'


def _scale(most: float) -> str:
  """What the darkness of cells means."""
  step = 58
  parts = []
  for number, dark in enumerate(STEPS):
    parts.append(_cell(step * number, 0, dark**2))
    place = f'x="{step * number + CELL + 4}" y="14"'
    parts.append(f'<text class="quiet" {place}>{most * dark**2:.2f}</text>')
  size = f'width="{step * len(STEPS)}" height="{CELL + 8}"'
  return f'<svg style="--hue: 210" {size}>{"".join(parts)}</svg>'
