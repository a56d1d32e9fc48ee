"""Models in a few lines, as a terminal and a notebook show them."""

import html
from collections.abc import Mapping

import jax

from luke_jax.convert.parts import ModelParts

MOST_LABELS = 8


def as_text(model: ModelParts) -> str:
  """Returns the summary of a model as lines."""
  lines = (f"  {name}: {value}" for name, value in _summary(model).items())
  return "\n".join([f"Model({model.architecture})", *lines])


def as_html(model: ModelParts) -> str:
  """Returns the summary of a model as a table of HTML."""
  rows = "".join(
    f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
    for name, value in _summary(model).items()
  )
  return f"<table><caption>{html.escape(model.architecture)}</caption>{rows}</table>"


def _summary(model: ModelParts) -> Mapping[str, str]:
  config = model.config
  count = sum(x.size for x in jax.tree.leaves(model.params))
  heads = f"{config.num_attention_heads} heads"
  rows = {
    "system": model.config.title,
    "sizes": f"{config.num_hidden_layers} layers, width {config.hidden_size}, {heads}",
    "words": f"{config.vocab_size:,}",
    "parameters": f"{count:,}",
  }
  if model.start:
    rows["adapters of"] = str(model.start.directory)
  if model.backbone.entities:
    rows["entities"] = f"{model.backbone.entities:,}"
  if model.labels:
    more = " …" if len(model.labels) > MOST_LABELS else ""
    rows["labels"] = f"{len(model.labels)}: {', '.join(model.labels[:MOST_LABELS])}{more}"
  if model.tokenizer is None:
    rows["text"] = "no tokenizer"
  return rows
