"""Parameters of ERNIE of Tsinghua and the names of its authors' tensors.

Their `gamma` and `beta`, in files of an earlier origin, are read too. Rows of layers name those of
the first run; `Keys.key` gives the other ones.
"""

from collections.abc import Iterator

from luke_jax.models.keys import FIRST_RUN, Key, linear, norm
from luke_jax.systems.bert.keys import bert_keys

_STACK = f"encoder/{FIRST_RUN}/layers"
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


def _own() -> Iterator[Key]:
  yield from _entity_parts(f"ernie_thu/{_STACK}", "bert.encoder.layer.{layer}.")
  yield from linear("aligned_entities/transform", "cls.predictions_ent.transform.dense")
  yield from norm("aligned_entities/norm", "cls.predictions_ent.transform.LayerNorm")


KEYS = bert_keys("ernie_thu", "bert", stack=_STACK, own=_own())
