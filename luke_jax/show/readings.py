"""Attention to the words of a text under different attributes, such as two users (MA-BERT)."""

import functools
import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from luke_jax.errors import InputError
from luke_jax.show.heat_maps import check_number
from luke_jax.show.marked import pieces_of
from luke_jax.show.picture import Picture, table
from luke_jax.tasks.predictions import Number

if TYPE_CHECKING:
  from luke_jax.model import Model
  from luke_jax.models.network import Network

HUE = 210
SHOWN = 8  # words that two readers weigh most differently


class AttentionReading(NamedTuple):
  """The words of a text, and the attention that its class is read with under some attributes."""

  words: list[str]  # with the space before each; those of special tokens are empty
  weights: np.ndarray  # (W,), which sum to 1


def readings(
  model: "Model",
  text: str,
  readers: Sequence[Mapping[str, object]],
  *,
  attribute: str = "",
  layer: int = -1,
) -> Picture:
  """Draws a text once for each reader, its words as dark as they weigh, and what they predict.

  A reader is a value for each attribute of the model, as `{"user": "ann"}`. A word weighs what the
  first token, whose state is classified, attends to it in a layer: the mean of the heads, and of
  the streams of all attributes or of the named one. Of two readers a table has the words that
  differ most. Layers count from 0, or from -1, the last.
  """
  read, predicted = _read(model, text, readers, attribute, layer)
  names = [", ".join(f"{name} {value}" for name, value in reader.items()) for reader in readers]
  most = max(float(_of_words(reading).max()) for reading in read)
  figures = [
    f"<figure><h3>{html.escape(f'{name}: {_answer(answer)}')}</h3>{_text(reading, most)}</figure>"
    for name, answer, reading in zip(names, predicted, read, strict=True)
  ]
  which = f"the stream of {attribute}" if attribute else "the streams of all attributes"
  note = f"Attention of the first token in {which}; the darkest word has {most:.0%}."
  body = (
    f'<p class="note">{html.escape(note)}</p><div class="side-by-side">{"".join(figures)}</div>'
  )
  if len(read) == 2:
    body += _differences(read, names)
  return Picture(body, text[:60])


def _read(
  model: "Model", text: str, readers: Sequence[Mapping[str, object]], attribute: str, layer: int
) -> tuple[list[AttentionReading], list[object]]:
  """Returns the weights that `readings` draws, and what each reader's text is predicted to be."""
  # Other pictures need no jax.
  import jax

  from luke_jax.heads.attributes import attributes_of
  from luke_jax.inference.settings import processor_of, task_of
  from luke_jax.tasks.running import Running

  spec = attributes_of(model.network.head)
  if spec is None or spec.form not in "cd":
    what = f"attributes of form {spec.form}" if spec else "no attributes"
    raise InputError(f"model: {what}; expected attributes of form c or d, which change attention")
  check_number("layer", layer, spec.layers)
  if attribute and attribute not in spec.names:
    raise InputError(f"attribute: {attribute!r}; expected one of {', '.join(spec.names)}")
  if not readers:
    raise InputError("readers: none; expected one or more, such as {'user': 'ann'}")
  task = task_of(model)
  processor = processor_of(model, task)
  examples = [
    task.parse({"text": text, **reader}, str(number), f"reader {number}")
    for number, reader in enumerate(readers, start=1)
  ]
  rows = task.features(processor, examples)
  ids = rows[0].input_ids
  sizes = task.sizes._replace(words=len(ids))
  inputs = Running(task).inputs(model.backbone, rows, sizes, processor.entity_vocab.pad_id)
  outputs, attended = jax.jit(functools.partial(_outputs, model.network))(model.params, inputs)
  probs = np.asarray(attended)
  streams = [spec.names.index(attribute)] if attribute else slice(None)
  weights = probs[layer][..., 0, :][:, streams].mean((1, 2), dtype=np.float64)
  special = processor.tokenizer.special
  ends = special.names.keys() - {special.unknown}  # an unknown word is one of the text
  pieces = pieces_of(processor.tokenizer, ids.tolist())
  words = ["" if id in ends else piece for id, piece in zip(ids, pieces, strict=True)]
  return [AttentionReading(words, each) for each in weights], task.decode(examples, rows, outputs)


def _outputs(network: "Network", params: dict, inputs: dict) -> tuple[dict, Any]:
  """Returns the outputs, and attention (L, B, S, N, W, W) of the layers of attributes."""
  run: Any = network.apply
  outputs, intermediates = run({"params": params}, **inputs, mutable=["intermediates"])
  layers = intermediates["intermediates"]["attribute_layers"]["layers"]
  return outputs, layers["attention"]["probs"][0]


def _of_words(reading: AttentionReading) -> np.ndarray:
  """Returns the weights, 0 for special tokens and for spaces alone."""
  return np.where([bool(word.strip()) for word in reading.words], reading.weights, 0.0)


def _text(reading: AttentionReading, most: float) -> str:
  marks: list[str] = []
  for word, weight in zip(reading.words, _of_words(reading), strict=True):
    marks.append(" " * word[:1].isspace())
    if word.strip():
      style = f"--hue: {HUE}; --share: {weight / max(most, 1e-12):.3f}"
      shown = html.escape(word.strip())
      marks.append(f'<mark style="{style}" title="{weight:.1%}">{shown}</mark>')
  return f'<p class="marked" dir="auto">{"".join(marks).strip()}</p>'


def _differences(pair: Sequence[AttentionReading], names: Sequence[str]) -> str:
  """Returns a table of the words that two readers weigh most differently, in percent."""
  first, second = (100 * _of_words(reading) for reading in pair)
  columns = first, second, first - second
  rows = [
    (pair[0].words[i].strip(), *(round(float(x[i]), 2) for x in columns))
    for i in np.argsort(-np.abs(columns[-1]), kind="stable")[:SHOWN]
    if pair[0].words[i].strip()
  ]
  return table(("word", *names, "difference"), rows).body


def _answer(prediction: Any) -> str:
  if isinstance(prediction, Number):
    return f"{prediction.value:.3g}"
  return ", ".join(f"{x.label} {x.score:.2f}" for x in prediction) or "nothing"
