"""Attention of one text, over words and entities, as heat maps."""

import dataclasses
import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.show.drawn_text import text_width
from luke_jax.show.picture import Picture
from luke_jax.text import Processor, Row, TextInput

if TYPE_CHECKING:
  from luke_jax.model import Model

KINDS = ("word", "entity")
HUES = {("word", "word"): 210, ("word", "entity"): 30}
HUES |= {("entity", "word"): 130, ("entity", "entity"): 290}
CELL, LETTERS = 20, 12.0  # sizes in CSS pixels
WIDEST = 64  # tokens in one picture
LONGEST = 18  # letters of a name beside its cells; their tooltips have it whole
SHARED = 16  # tokens
STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)


class AttentionWeights(NamedTuple):
  """Attention weights of one text, over its words and then its entities."""

  words: list[str]
  entities: list[str]
  weights: np.ndarray  # (T, T), float32: queries by keys; every row sums to 1


def attention(
  model: "Model", text: str, spans: Sequence[Any] = (), *, layer: int = -1, head: int | None = None
) -> Picture:
  """Draws the attention of a text, with one map for each kind of query (paper §3.2).

  `spans` are (start, end), or (start, end, title) for an entity of the vocabulary. Without `head`
  it is the mean of a layer's heads. Layers count from 0, or from -1, the last.
  """
  result = attention_of(model, text, spans, layer=layer, head=head)
  if len(result.weights) > WIDEST:
    raise InputError(f"text: {len(result.weights)} tokens; expected at most {WIDEST} to be drawn")
  most = float(result.weights.max())
  layers = model.config.num_hidden_layers
  which = "mean of its heads" if head is None else f"head {head}"
  about = f"Layer {layer % layers} of {layers}, {which}. Rows are queries, columns keys; each row"
  about += " sums to 1 over words and entities."
  if model.config.entity_aware:
    maps = [_map(result, query, key, most) for query in KINDS for key in KINDS]
  else:
    about += " One kind of query serves words and entities."
    names = [*result.words, *result.entities]
    note = "words, then entities" if result.entities else "words"
    grid = _grid(result, result.weights, (names, names), most)
    maps = [_figure("token → token", note, grid, 210)]
  columns = "two-columns" if result.entities and len(maps) > 1 else ""
  body = f'<p class="note">{about}</p>{_scale(most)}<div class="{columns}">{"".join(maps)}</div>'
  return Picture(body, text[:60])


def attention_of(
  model: "Model", text: str, spans: Sequence[Any] = (), *, layer: int = -1, head: int | None = None
) -> AttentionWeights:
  """Returns the weights that `attention` draws."""
  # Other pictures need no jax.
  from luke_jax.heads.kinds import without_head
  from luke_jax.inference.settings import any_processor

  config = model.config
  check_number("layer", layer, config.num_hidden_layers)
  if head is not None:
    check_number("head", head, config.num_attention_heads)
  processor = any_processor(model, spans)
  titles = [span[2] for span in spans if len(span) == 3]
  if titles and len(titles) < len(spans):
    raise InputError(f"spans: {len(titles)} of {len(spans)} with a title; expected all or none")
  places = [tuple(span[:2]) for span in spans]
  example = TextInput(text, entity_spans=places or None, entities=titles or None)
  (row,) = processor.encode([example], offsets=True)
  words, entities = len(row.input_ids), len(row.entity_ids)
  room = max(words, min(_rounded(words), config.room_for_words))
  inputs: dict[str, Any] = {
    **processor.pad([row], word_lengths=room, entity_lengths=_rounded(entities) or None)
  }
  network, params = without_head(model.network, model.params)
  encoder = dataclasses.replace(model, network=network, params=params, labels=())
  outputs = encoder(**inputs, output_attentions=True)
  tokens = np.r_[:words, room : room + entities]
  heads = np.asarray(outputs["attentions"][layer, 0], np.float32)[:, tokens][:, :, tokens]
  weights = heads.mean(0) if head is None else heads[head]
  names = titles or [text[slice(*entity.characters)] for entity in row.entities or ()]
  return AttentionWeights(_words(row, text, processor), list(names), weights)


def _rounded(count: int) -> int:
  """Returns a number of tokens from `count`: texts of about the same length share a program."""
  return -(-count // SHARED) * SHARED


def check_number(name: str, number: int, count: int) -> None:
  """Raises InputError for a number that is no index of `count` things; -1 is the last."""
  if not isinstance(number, int) or not -count <= number < count:
    raise InputError(f"{name}: {number!r}; expected a whole number from {-count} to {count - 1}")


def _words(row: Row, text: str, processor: Processor) -> list[str]:
  """Returns the text of each token, or the name of a special one."""
  special = processor.tokenizer.special
  # An unknown word is one of the text.
  names = {id: name for id, name in special.names.items() if id != special.unknown}
  return [
    names.get(id) or text[max(start, 0) : max(end, 0)] or "▁"
    for id, (start, end) in zip(row.input_ids, row.offsets, strict=True)
  ]


def _map(result: AttentionWeights, query: str, key: str, most: float) -> str:
  """Returns the map of one kind of query; "" for a map of entities where there are none."""
  words = len(result.words)
  parts = {"word": slice(words), "entity": slice(words, None)}
  names = {"word": result.words, "entity": result.entities}
  if not names[query] or not names[key]:
    return ""
  weights = result.weights[parts[query], parts[key]]
  plural = {"word": "words", "entity": "entities"}
  note = f"{weights.sum(1).mean():.0%} of the attention of {plural[query]}"
  grid = _grid(result, weights, (names[query], names[key]), most)
  return _figure(f"{query} → {key}", note, grid, HUES[query, key])


def _figure(title: str, note: str, grid: str, hue: int) -> str:
  title = f"<h3>{title}</h3>"
  style = f'style="--hue: {hue}"'
  return f'<figure {style}>{title}<p class="note">{note}</p><div class="wide">{grid}</div></figure>'


def _grid(
  result: AttentionWeights,
  weights: np.ndarray,
  names: tuple[Sequence[str], Sequence[str]],
  most: float,
) -> str:
  """Returns the weights as cells, with the names of their tokens beside and above them."""
  rows, columns = names
  # The same margin in every map, so that maps side by side are aligned.
  widths = (text_width(_short(name), LETTERS) for name in (*result.words, *result.entities))
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
    tooltip = f"<title>{html.escape(f'{rows[y]} → {columns[x]}')}: {weight:.3f}</title>"
    parts.append(_cell(CELL * x, CELL * y, float(weight) / most, tooltip))
  parts.append(f'<rect class="frame" width="{width}" height="{height}"/></g>')
  size = f'width="{left + width + 2:.0f}" height="{top + height + 2:.0f}"'
  return f"<svg {size}>{''.join(parts)}</svg>"


def _short(name: str) -> str:
  return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _cell(x: float, y: float, share: float, tooltip: str = "") -> str:
  """Returns a cell as dark as the square root of its share, so that small shares are visible."""
  place = f'x="{x + 0.5}" y="{y + 0.5}" width="{CELL - 1}" height="{CELL - 1}"'
  return f'<rect class="cell" {place} fill-opacity="{max(share, 0.0) ** 0.5:.3f}">{tooltip}</rect>'


def _scale(most: float) -> str:
  """Returns the legend of the cells' darkness."""
  step = 58
  parts = []
  for number, opacity in enumerate(STEPS):
    parts.append(_cell(step * number, 0, opacity**2))
    place = f'x="{step * number + CELL + 4}" y="14"'
    parts.append(f'<text class="quiet" {place}>{most * opacity**2:.2f}</text>')
  size = f'width="{step * len(STEPS)}" height="{CELL + 8}"'
  return f'<svg style="--hue: 210" {size}>{"".join(parts)}</svg>'
