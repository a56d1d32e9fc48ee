"""Parameters of ERNIE of Tsinghua and the names of its authors' tensors.

Their `gamma` and `beta`, in files of an earlier origin, are read too. Rows of layers name those of
the first run; `Keys.key` gives the other ones.
"""

from collections.abc import Iterator

from luke_jax.models.bert.keys import OLD_NORMS
from luke_jax.models.keys import (
  FIRST_RUN,
  WORD_DECODER,
  Key,
  Keys,
  layers,
  linear,
  norm,
  word_embeddings,
)

# Starts of the names of parts that a BERT does not have.
ENTITY_PARTS = ("self_ent", "output_ent", "dense_ent", "LayerNorm_ent", "predictions_ent")


def _entity_parts(path: str, layer: str) -> Iterator[Key]:
  attention = f"{layer}attention."
  queries = (f"{attention}self_ent.query.weight", f"{attention}self_ent.query.bias")
  yield Key(f"{path}/entity_attention/query/kernel", queries[:1], 1, by_kind=True)
  yield Key(f"{path}/entity_attention/query/bias", queries[1:], by_kind=True)
  yield from linear(f"{path}/entity_attention/key", f"{attention}self_ent.key")
  yield from linear(f"{path}/entity_attention/value", f"{attention}self_ent.value")
  yield from linear(f"{path}/entity_attention/output", f"{attention}output_ent.dense", inputs=2)
  yield from norm(f"{path}/entity_attention_norm", f"{attention}output_ent.LayerNorm")
  yield from linear(f"{path}/mlp/entity_up", f"{layer}intermediate.dense_ent")
  yield from linear(f"{path}/mlp/entity_down", f"{layer}output.dense_ent")
  yield from norm(f"{path}/entity_mlp_norm", f"{layer}output.LayerNorm_ent")


def _rows() -> Iterator[Key]:
  stack = f"ernie_thu/encoder/{FIRST_RUN}/layers"
  yield from word_embeddings("ernie_thu/embeddings", "bert.embeddings")
  yield from layers(stack, "bert.encoder.layer")
  yield from _entity_parts(stack, "bert.encoder.layer.{layer}.")
  yield from linear("ernie_thu/pooler/dense", "bert.pooler.dense")
  yield from linear("masked_words/transform", "cls.predictions.transform.dense")
  yield from norm("masked_words/norm", "cls.predictions.transform.LayerNorm")
  yield Key("masked_words/bias", ("cls.predictions.bias",))
  yield Key(WORD_DECODER, ("cls.predictions.decoder.weight",))
  yield from linear("aligned_entities/transform", "cls.predictions_ent.transform.dense")
  yield from norm("aligned_entities/norm", "cls.predictions_ent.transform.LayerNorm")
  yield from linear("next_sentence", "cls.seq_relationship")
  for head in ("classifier", "qa_outputs", "scorer"):
    yield from linear(head, head)


KEYS = Keys.of(
  _rows(),
  aliases={
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
  },
  renames=(*OLD_NORMS, (r"^(embeddings|encoder|pooler)\.", r"bert.\1.")),
  encoder="bert",
)
