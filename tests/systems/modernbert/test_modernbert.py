"""ModernBERT: config files of the hub and of transformers 5, and sizes that are refused."""

from pathlib import Path

import pytest

from luke_jax.errors import InputError
from luke_jax.systems.modernbert import SIZES, ModernBertConfig

# What the config.json of a published one says beside the defaults, as transformers 4 wrote it.
PUBLISHED = {
  "architectures": ["ModernBertForMaskedLM"],
  "model_type": "modernbert",
  "vocab_size": 50368,
  "hidden_size": 768,
  "num_hidden_layers": 22,
  "num_attention_heads": 12,
  "intermediate_size": 1152,
  "max_position_embeddings": 8192,
  "layer_norm_eps": 1e-05,
  "norm_eps": 1e-05,
  "norm_bias": False,
  "hidden_activation": "gelu",
  "classifier_pooling": "mean",
  "global_attn_every_n_layers": 3,
  "global_rope_theta": 160000.0,
  "local_rope_theta": 10000.0,
  "position_embedding_type": "sans_pos",
  "reference_compile": None,
  "deterministic_flash_attn": False,
  "_attn_implementation": "flash_attention_2",
}
KINDS = ["full_attention", "sliding_attention", "sliding_attention"]
FIFTH = {  # the same in the form of transformers 5
  "layer_types": (KINDS * 8)[:22],
  "rope_parameters": {
    "full_attention": {"rope_type": "default", "rope_theta": 160000.0},
    "sliding_attention": {"rope_type": "default", "rope_theta": 160000.0},
  },
}


def described(**fields):
  return ModernBertConfig.described(PUBLISHED | fields, Path("config.json"))


def test_both_forms_of_config_files_are_read():
  old, new = described(), described(**FIFTH)
  assert old.architecture == new.architecture == "ModernBertForMaskedLM"
  base = SIZES["modernbert-base"]
  assert vars(old.config) == vars(base) | {"classifier_pooling": "mean"}
  assert vars(new.config) == vars(old.config) | {"local_rope_theta": 160000.0}
  assert [i for i, x in enumerate(new.config.is_global) if x] == [0, 3, 6, 9, 12, 15, 18, 21]
  written = ModernBertConfig.write_config(new)
  assert not FIFTH.keys() & written.keys() and written["norm_eps"] == 1e-05
  assert written["global_attn_every_n_layers"] == 3 and written["local_rope_theta"] == 160000.0


@pytest.mark.parametrize(
  ("fields", "message"),
  [
    ({"local_attention": 1}, "local_attention: 1; expected 2 or more words"),
    ({"norm_bias": True}, "norm_bias: true; expected false"),
    ({"layer_types": KINDS[:2] + KINDS}, "layer_types: .* expected full_attention every so many"),
    (
      {"rope_parameters": {"full_attention": {"rope_type": "yarn"}}},
      "rope_type: 'yarn'; expected 'default'",
    ),
  ],
)
def test_what_is_computed_otherwise_is_refused(fields, message):
  with pytest.raises(InputError, match=message):
    described(**fields)
