"""Names of ERNIE's tensors in Paddle's files: of static graphs, of dygraph, and of PaddleNLP."""

from collections.abc import Iterator, Sequence

from luke_jax.models.names import Naming

# Kind of a part, its name in transformers, in files of static graphs, of dygraph, of PaddleNLP.
_PARTS = """
table embeddings.word_embeddings word_embedding word_emb embeddings.word_embeddings
table embeddings.position_embeddings pos_embedding pos_emb embeddings.position_embeddings
table embeddings.token_type_embeddings sent_embedding sent_emb embeddings.token_type_embeddings
norm embeddings.LayerNorm pre_encoder_layer_norm ln embeddings.layer_norm
linear pooler.dense pooled_fc pooler pooler.dense
linear cls.predictions.transform.dense mask_lm_trans_fc mlm cls.predictions.transform
norm cls.predictions.transform.LayerNorm mask_lm_trans_layer_norm mlm_ln cls.predictions.layer_norm
whole cls.predictions.bias mask_lm_out_fc.b_0 mlm_bias cls.predictions.decoder_bias
linear cls.seq_relationship next_sent_fc nsp cls.seq_relationship
"""
_LAYER = (
  "encoder.layer.{layer}.",
  "encoder_layer_{layer}_",
  "encoder_stack.block.{layer}.",
  "encoder.layers.{layer}.",
)
_LAYER_PARTS = """
linear attention.self.query multi_head_att_query_fc attn.q self_attn.q_proj
linear attention.self.key multi_head_att_key_fc attn.k self_attn.k_proj
linear attention.self.value multi_head_att_value_fc attn.v self_attn.v_proj
linear attention.output.dense multi_head_att_output_fc attn.o self_attn.out_proj
norm attention.output.LayerNorm post_att_layer_norm ln1 norm1
linear intermediate.dense ffn_fc_0 ffn.i linear1
linear output.dense ffn_fc_1 ffn.o linear2
norm output.LayerNorm post_ffn_layer_norm ln2 norm2
"""
_ENDS: dict[str, tuple[str, ...]] = {
  "table": (".weight",),
  "linear": (".weight", ".bias"),
  "norm": (".weight", ".bias"),
  "whole": ("",),
}
_STATIC_ENDS = _ENDS | {"table": ("",), "linear": (".w_0", ".b_0"), "norm": ("_scale", "_bias")}


def _rows() -> Iterator[tuple[str, Sequence[str]]]:
  for line in _PARTS.split("\n")[1:-1]:
    kind, *names = line.split()
    yield kind, names
  for line in _LAYER_PARTS.split("\n")[1:-1]:
    kind, *names = line.split()
    yield kind, [start + name for start, name in zip(_LAYER, names, strict=True)]


def _naming(name: str, column: int, ends: dict[str, tuple[str, ...]], *, prefixed: bool) -> Naming:
  pairs = (
    (names[0] + end, names[column] + their_end)
    for kind, names in _rows()
    for end, their_end in zip(_ENDS[kind], ends[kind], strict=True)
  )
  return Naming(name, tuple(pairs), "ernie", prefixed)


STATIC = _naming("paddle-static", 1, _STATIC_ENDS, prefixed=False)
DYGRAPH = _naming("paddle-dygraph", 2, _ENDS, prefixed=False)
PADDLENLP = _naming("paddlenlp", 3, _ENDS, prefixed=True)
