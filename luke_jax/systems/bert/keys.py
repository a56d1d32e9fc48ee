"""BERT's and RoBERTa's parameters and the state-dict keys of transformers' classes."""

from collections.abc import Iterable, Iterator

from luke_jax.models.keys import (
  WORD_DECODER,
  Key,
  Keys,
  layers,
  linear,
  norm,
  word_embeddings,
)

# Names of old TensorFlow checkpoints, and models saved without their heads.
OLD_NORMS = ((r"\.gamma$", ".weight"), (r"\.beta$", ".bias"))


def bert_keys(
  name: str, reference: str, *, stack: str = "encoder/layers", own: Iterable[Key] = ()
) -> Keys:
  """Returns the table of a system with BERT's parameters and heads, and rows of its own.

  `name` and `reference` are our name and the reference's for its encoder; `stack` is the path of
  its layers.
  """
  return Keys.of(
    (*_encoder(name, reference, f"{reference}.pooler.dense", stack), *_heads(), *own),
    aliases={
      "cls.predictions.decoder.weight": f"{reference}.embeddings.word_embeddings.weight",
      "cls.predictions.decoder.bias": "cls.predictions.bias",
    },
    renames=(*OLD_NORMS, (r"^(embeddings|encoder|pooler)\.", rf"{reference}.\1.")),
    encoder=reference,
  )


def _encoder(name: str, reference: str, pooler: str, stack: str) -> Iterator[Key]:
  yield from word_embeddings(f"{name}/embeddings", f"{reference}.embeddings")
  yield from layers(f"{name}/{stack}", f"{reference}.encoder.layer")
  yield from linear(f"{name}/pooler/dense", pooler)


def _heads() -> Iterator[Key]:
  yield from linear("masked_words/transform", "cls.predictions.transform.dense")
  yield from norm("masked_words/norm", "cls.predictions.transform.LayerNorm")
  yield Key("masked_words/bias", ("cls.predictions.bias",))
  yield Key(WORD_DECODER, ("cls.predictions.decoder.weight",))
  yield from linear("next_sentence", "cls.seq_relationship")
  for head in ("classifier", "qa_outputs", "scorer"):
    yield from linear(head, head)


def _roberta_rows(name: str, kind: str) -> Iterator[Key]:
  # RoBERTa's own classifier of texts has the pooler inside, under another name.
  of_text = kind == "text"
  pooler = "classifier.dense" if of_text else "roberta.pooler.dense"
  yield from _encoder(name, "roberta", pooler, "encoder/layers")
  yield from linear("masked_words/transform", "lm_head.dense")
  yield from norm("masked_words/norm", "lm_head.layer_norm")
  yield Key("masked_words/bias", ("lm_head.bias",))
  yield Key(WORD_DECODER, ("lm_head.decoder.weight",))
  yield from linear("classifier", "classifier.out_proj" if of_text else "classifier")
  for head in ("qa_outputs", "scorer"):
    yield from linear(head, head)


def roberta_keys(name: str, kind: str) -> Keys:
  """Returns the table of RoBERTa or of XLM-R for a kind of head."""
  return Keys.of(
    _roberta_rows(name, kind),
    aliases={
      "lm_head.decoder.weight": "roberta.embeddings.word_embeddings.weight",
      "lm_head.decoder.bias": "lm_head.bias",
    },
    renames=(
      *OLD_NORMS,
      (r"^data2vec_text\.", "roberta."),
      (r"^(embeddings|encoder|pooler)\.", r"roberta.\1."),
    ),
    encoder="roberta",
  )
