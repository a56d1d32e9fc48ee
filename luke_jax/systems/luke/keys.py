"""Names of a LUKE's tensors on disk."""

from collections.abc import Iterator

from luke_jax.models.keys import (
  ENTITY_DECODER,
  WORD_DECODER,
  Key,
  Keys,
  LayerNames,
  layers,
  linear,
  norm,
  table,
  word_embeddings,
)

# Names of tensors in the state dicts of transformers' classes and of the authors' archives.
_QUERIES = ("query", "w2e_query", "e2w_query", "e2e_query")
_LAYER = LayerNames(tuple(f"attention.self.{query}" for query in _QUERIES))


def _rows() -> Iterator[Key]:
  entities = "luke.entity_embeddings"
  yield from word_embeddings("luke/embeddings", "luke.embeddings")
  yield from table("luke/entity_embeddings/entity", f"{entities}.entity_embeddings")
  yield from linear("luke/entity_embeddings/projection", f"{entities}.entity_embedding_dense")
  yield from table("luke/entity_embeddings/position", f"{entities}.position_embeddings")
  yield from table("luke/entity_embeddings/type", f"{entities}.token_type_embeddings")
  yield from norm("luke/entity_embeddings/norm", f"{entities}.LayerNorm")
  yield from layers("luke/encoder/layers", "luke.encoder.layer", _LAYER)
  yield from linear("luke/pooler/dense", "luke.pooler.dense")
  yield from linear("masked_words/transform", "lm_head.dense")
  yield from norm("masked_words/norm", "lm_head.layer_norm")
  yield Key("masked_words/bias", ("lm_head.bias",))
  yield Key(WORD_DECODER, ("lm_head.decoder.weight",))
  yield from linear("masked_entities/transform", "entity_predictions.transform.dense")
  yield from norm("masked_entities/norm", "entity_predictions.transform.LayerNorm")
  yield Key("masked_entities/bias", ("entity_predictions.bias",))
  yield Key(ENTITY_DECODER, ("entity_predictions.decoder.weight",))
  yield Key("page_entity/decoder/kernel", ("cls_entity_predictions.decoder.weight",), 1)
  yield Key("page_entity/decoder/bias", ("cls_entity_predictions.bias",))
  for head in ("classifier", "qa_outputs", "scorer"):
    yield from linear(head, head)


KEYS = Keys.of(
  _rows(),
  aliases={
    "lm_head.decoder.weight": "luke.embeddings.word_embeddings.weight",
    "lm_head.decoder.bias": "lm_head.bias",
    "entity_predictions.decoder.weight": "luke.entity_embeddings.entity_embeddings.weight",
  },
  renames=(
    (r"\.gamma$", ".weight"),
    (r"\.beta$", ".bias"),
    (r"^(roberta|bert)\.", "luke."),
    (r"^(embeddings|entity_embeddings|encoder|pooler)\.", r"luke.\1."),
    (r"^cls\.predictions\.transform\.dense\.", "lm_head.dense."),
    (r"^cls\.predictions\.transform\.LayerNorm\.", "lm_head.layer_norm."),
    (r"^cls\.predictions\.", "lm_head."),
  ),
  encoder="luke",
  unused=("cls.seq_relationship.",),
  tied_by_reference=("entity_predictions.decoder.weight",),
  copies=(r"\.(w2e|e2w|e2e)_query\.", ".query."),
)
