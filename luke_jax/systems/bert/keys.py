"""Parameters of systems of BERT's shape, and the state-dict keys of transformers' classes."""

import dataclasses
from collections.abc import Iterable, Iterator

from luke_jax.models.keys import (
  OF_BERT,
  WORD_DECODER,
  Key,
  Keys,
  LayerNames,
  layers,
  linear,
  norm,
  word_embeddings,
)

# Names of old TensorFlow checkpoints, and models saved without their heads.
_OLD_NORMS = ((r"\.gamma$", ".weight"), (r"\.beta$", ".bias"))
_WITHOUT_HEADS = r"^(embeddings|embeddings_project|encoder|transformer|pooler)\."


@dataclasses.dataclass(frozen=True)
class PartNames:
  """Names on disk of the parts of a system of BERT's shape; the defaults are BERT's."""

  encoder: str
  layers: str = "encoder.layer"  # of the encoder
  layer: LayerNames = OF_BERT
  pooler: str = ""  # "": that of the encoder
  transform: str = "cls.predictions.transform.dense"
  norm: str = "cls.predictions.transform.LayerNorm"
  decoder: str = "cls.predictions.decoder"
  bias: str = "cls.predictions.bias"  # of the decoder
  pooler_in_classifier: bool = False  # of texts
  renames: tuple[tuple[str, str], ...] = ()  # patterns of other names, and replacements


OF_ROBERTA = PartNames(
  "roberta",
  transform="lm_head.dense",
  norm="lm_head.layer_norm",
  decoder="lm_head.decoder",
  bias="lm_head.bias",
  pooler_in_classifier=True,
  renames=((r"^data2vec_text\.", "roberta."),),
)


def keys_of(
  name: str,
  names: PartNames,
  kind: str = "",
  *,
  stack: str = "encoder/layers",
  own: Iterable[Key] = (),
) -> Keys:
  """Returns the table of a system of BERT's shape for a kind of head, and rows of its own.

  `name` is our name for its encoder; `stack` is the path of its layers.
  """
  words = f"{names.encoder}.embeddings.word_embeddings.weight"
  aliases = {f"{names.decoder}.weight": words, f"{names.decoder}.bias": names.bias}
  heads = _heads(name, names, in_classifier=kind == "text" and names.pooler_in_classifier)
  return Keys.of(
    (*_encoder(name, names, stack), *heads, *own),
    aliases={alias: tied for alias, tied in aliases.items() if alias != tied},
    renames=(*_OLD_NORMS, *names.renames, (_WITHOUT_HEADS, rf"{names.encoder}.\1.")),
    encoder=names.encoder,
  )


def _encoder(name: str, names: PartNames, stack: str) -> Iterator[Key]:
  yield from word_embeddings(f"{name}/embeddings", f"{names.encoder}.embeddings")
  yield from linear(f"{name}/embeddings/project", f"{names.encoder}.embeddings_project")
  yield from layers(f"{name}/{stack}", f"{names.encoder}.{names.layers}", names.layer)


def _heads(name: str, names: PartNames, *, in_classifier: bool) -> Iterator[Key]:
  pooler = names.pooler or f"{names.encoder}.pooler.dense"
  yield from linear(f"{name}/pooler/dense", "classifier.dense" if in_classifier else pooler)
  yield from linear("classifier", "classifier.out_proj" if in_classifier else "classifier")
  yield from linear("masked_words/transform", names.transform)
  yield from norm("masked_words/norm", names.norm)
  yield Key("masked_words/bias", (names.bias,))
  yield Key(WORD_DECODER, (f"{names.decoder}.weight",))
  yield from linear("next_sentence", "cls.seq_relationship")
  for head in ("qa_outputs", "scorer"):
    yield from linear(head, head)
