"""DeBERTa: its sizes, rows of distances, predictions on CPUs, and config files that it refuses."""

import json
import math
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest
from networks import applied, network
from small_systems import drawn, small

import luke_jax
from luke_jax.errors import InputError
from luke_jax.models.network import abstract_params, prepared
from luke_jax.systems.deberta import SIZES, DebertaConfig, rows_of_distances, skewed

GOLDEN = Path(__file__).parents[2] / "goldens" / "bert" / "DebertaV2ForMultipleChoice"
# Those of the hub's files without their heads and, in small and base, without places.
COUNTS = {
  "deberta-v3-small": 141_304_320,
  "deberta-v3-base": 183_831_552,
  "deberta-v3-large": 434_012_160,
}
IDS = np.array([[4, 5, 6, 7, 9, 8], [5, 0, 0, 0, 0, 0]])
MASK = {"attention_mask": (IDS != 0).astype(int)}


@pytest.mark.parametrize("name", COUNTS)
def test_parameters_are_those_of_the_reference(name):
  params = abstract_params(network("DebertaV2Model", SIZES[name]))
  assert sum(x.size for x in jax.tree.leaves(params)) == COUNTS[name]


def test_far_distances_share_rows():
  rows, zero = rows_of_distances(512, 256), 1024
  assert list(rows[zero - 2 : zero + 3]) == [254, 255, 256, 257, 258]
  assert rows[zero + 128] == 384 and rows[zero + 129] == rows[zero + 130] - 1 == 385
  assert rows[zero + 511] == rows[-1] == 511 and rows[zero - 511] == rows[0] + 1 == 1
  steps = [math.ceil(math.log(d / 128) / math.log(511 / 128) * 127) for d in range(129, 511)]
  assert list(rows[zero + 129 : zero + 511]) == [min(256 + 128 + x, 511) for x in steps]
  assert (np.diff(rows) >= 0).all()
  plain = rows_of_distances(3, 0)
  assert list(plain) == [0, 0, 0, 0, 1, 2, 3, 4, 5, 5, 5, 5, 5]


def test_scores_of_distances_are_moved_to_their_places():
  words = 4
  distances = words - np.arange(2 * words)
  scores = np.tile(distances, (1, 1, words, 1)) + 100 * np.arange(words)[:, None]
  places = np.arange(words)
  expected = 100 * places[:, None] + places[:, None] - places
  np.testing.assert_array_equal(skewed(scores.astype(np.float32))[0, 0], expected)


def test_predictions_on_cpus_are_those_of_the_definition():
  model = drawn(DebertaConfig, "token")
  expected = applied(model.network, model.params, {"input_ids": IDS, **MASK})
  found = applied(*prepared(model.network, model.params), {"input_ids": IDS, **MASK})
  for name, x in found.items():
    np.testing.assert_allclose(x, expected[name], atol=1e-5)


def test_padding_changes_nothing_in_bfloat16():
  made = network("DebertaV2Model", small(DebertaConfig, conv_kernel_size=3), dtype="bfloat16")
  rng = np.random.default_rng(0)
  params = jax.tree.map(lambda x: 0.1 * rng.normal(size=x.shape), abstract_params(made))
  params = jax.tree.map(lambda x: x.astype(np.float32), params)
  (padded,) = applied(made, params, {"input_ids": IDS, **MASK}).values()
  (alone,) = applied(made, params, {"input_ids": IDS[1:, :1]}).values()
  assert padded.dtype == jax.numpy.bfloat16 and np.isfinite(padded.astype(np.float32)).all()
  np.testing.assert_allclose(padded[1:, :1].astype(np.float32), alone, atol=0.03)


@pytest.mark.parametrize("rate", ["hidden_dropout_prob", "attention_probs_dropout_prob"])
def test_dropout_is_on_where_it_is_asked_for(rate):
  none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
  model = drawn(DebertaConfig, "none")
  made = network("DebertaV2Model", small(DebertaConfig, **none | {rate: 0.5}))

  @jax.jit
  def states(key):
    result = made.apply({"params": model.params}, input_ids=IDS, rngs={"dropout": key})
    return result["last_hidden_state"]

  first, again, other = (states(jax.random.key(i)) for i in (0, 0, 1))
  np.testing.assert_array_equal(first, again)
  assert np.abs(first - other).max() > 0.01


def test_each_kind_of_head_drops_its_own_share():
  kinds = ("text", "choice", "token", "answer")
  config = DebertaConfig(hidden_dropout_prob=0.2, cls_dropout=0.3)
  assert [config.head_dropout(kind) for kind in kinds] == [0.3, 0.3, 0.2, 0.0]
  config = DebertaConfig(hidden_dropout_prob=0.2)
  assert [config.head_dropout(kind) for kind in kinds] == [0.2, 0.2, 0.2, 0.0]


def described(**fields):
  raw = json.loads((GOLDEN / "config.json").read_text()) | fields
  return DebertaConfig.described(raw, Path("config.json")).config


def test_what_a_file_says_in_other_words():
  read = described(pos_att_type="P2C | c2p", position_buckets=-1, max_relative_positions=-1)
  assert (read.pos_att_type, read.position_buckets, read.reach) == (("p2c", "c2p"), 0, 20)
  assert described(pos_att_type=None).pos_att_type == ()
  assert described(auto_map={"AutoModel": "modeling.Own"}).vocab_size == 40  # code of others


@pytest.mark.parametrize(
  ("fields", "refusal"),
  [
    ({"z_steps": 2}, "z_steps: 2; expected 0"),
    ({"pos_att_type": "p2p|c2p"}, r"pos_att_type: p2p\|c2p; expected c2p, p2c, c2p\|p2c, or"),
    (
      {"model_type": "deberta"},
      "model_type: 'deberta', of v1; expected 'deberta-v2', of v2 and v3",
    ),
    ({"position_buckets": 5}, "position_buckets: 5; expected an even number below"),
    ({"position_buckets": 64, "max_relative_positions": 32}, "position_buckets: 64; expected an"),
    ({"conv_kernel_size": 2}, "conv_kernel_size: 2; expected 0 or an odd number"),
    ({"pooler_hidden_size": 8}, "pooler_hidden_size: 8; expected 16"),
  ],
)
def test_configs_that_are_refused(fields, refusal):
  with pytest.raises(InputError, match=f"^config.json: {refusal}"):
    described(**fields)


def test_a_v1_is_refused_by_its_name(tmp_path):
  shutil.copytree(GOLDEN, tmp_path, dirs_exist_ok=True)
  config = json.loads((GOLDEN / "config.json").read_text()) | {"model_type": "deberta"}
  (tmp_path / "config.json").write_text(json.dumps(config))
  with pytest.raises(InputError, match="of v1; expected 'deberta-v2', of v2 and v3"):
    luke_jax.load(tmp_path)
