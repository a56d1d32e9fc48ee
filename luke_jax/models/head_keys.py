"""Names in files of the parameters of heads that no class of transformers has, by our paths.

A chain's are those of pytorch-crf, those of layers with attributes are the authors' of MA-BERT.
"""

from collections.abc import Iterator


def _attribute_layers() -> Iterator[tuple[str, str]]:
  ours, theirs = "attribute_layers/layers", "ATrans_decoder.{layer}"
  for name in ("query", "key", "value"):
    stream = f"{theirs}.attention.atts.{{stream}}.{name}"
    yield f"{ours}/attention/{name}/weights", f"{stream}.bilinear_weights"  # as they lie
    yield f"{ours}/attention/{name}/bias", f"{stream}.bias"
  yield f"{ours}/attention/value/kernel", f"{theirs}.attention.atts.{{stream}}.value.weight"
  for path, name, weights in (
    ("output", "attention.output.dense.{stream}", "kernel"),
    ("combination", "attention.output.project", "kernel"),
    ("attention_norm", "attention.output.LayerNorm", "scale"),
    ("mlp/up", "intermediate.dense", "kernel"),
    ("mlp/down", "output.dense", "kernel"),
    ("mlp_norm", "output.LayerNorm", "scale"),
  ):
    yield f"{ours}/{path}/{weights}", f"{theirs}.{name}.weight"
    yield f"{ours}/{path}/bias", f"{theirs}.{name}.bias"


NAMES = {
  "crf/transitions": "crf.transitions",
  "crf/starts": "crf.start_transitions",
  "crf/ends": "crf.end_transitions",
  "text": "text",
  "fusion/kernel": "fusion.linear.weight",
  "fusion/bias": "fusion.linear.bias",
  **dict(_attribute_layers()),
}
STARTS = ("crf.", "ATrans_decoder.", "fusion.", "layer.", "text")  # of these names
