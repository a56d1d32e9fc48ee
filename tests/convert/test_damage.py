"""Damaged files and numbers that are none: refused by name, never an answer."""

import dataclasses
import json
import struct

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from tiny import same_params, tiny_model

import luke_jax
from luke_jax.convert.tensors import BESIDE, CHECKSUMS, read_safetensors, write_safetensors
from luke_jax.errors import InputError
from luke_jax.models.config_files import check_finite, is_finite
from luke_jax.models.keys import flatten, unflatten
from luke_jax.tasks.mask_predictions import predict_masks


@pytest.fixture
def saved(tmp_path):
  tiny_model("LukeForEntityClassification").save(tmp_path / "model")
  return tmp_path / "model"


def same(one, other):
  return one.keys() == other.keys() and all(
    one[name].dtype == other[name].dtype and np.array_equal(one[name], other[name]) for name in one
  )


def test_every_bit_that_flips_is_noticed_or_changes_nothing(tmp_path):
  rng, file = np.random.default_rng(0), tmp_path / "model.safetensors"
  tensors = {f"layer.{i}.weight": rng.normal(size=(2, 3)).astype(np.float32) for i in range(2)}
  tensors["bias"] = np.ones(2, np.float16)
  write_safetensors(file, tensors.items())
  whole, noticed = file.read_bytes(), 0
  bits = range(0, 8 * len(whole), 3)  # of each place in a byte
  for bit in bits:
    data = bytearray(whole)
    data[bit // 8] ^= 1 << bit % 8
    file.write_bytes(data)
    try:
      found = read_safetensors(file)
    except InputError as fault:
      noticed += 1
      assert str(fault).startswith(f"{file}: ")
    else:
      assert same(found, tensors), bit
  # The others are in the names of entries beside the tensors, such as that of the checksums.
  assert noticed > 0.9 * len(bits)


def test_transformers_entry_is_there_and_files_of_others_need_none(saved):
  file = saved / "model.safetensors"
  with safe_open(file, framework="np") as opened:
    metadata = opened.metadata()
  assert metadata["format"] == "pt" and set(metadata) == {"format", CHECKSUMS, BESIDE}
  tensors = load_file(file)
  assert json.loads(metadata[CHECKSUMS]).keys() == tensors.keys()
  save_file(tensors, file)
  assert same_params(luke_jax.load(saved).params, tiny_model("LukeForEntityClassification").params)


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt", "entity_vocab.json"])
def test_a_text_file_that_is_not_as_it_was_saved_is_refused(saved, name):
  """With a line less, words have other ids, and answers are others."""
  file = saved / name
  text = file.read_bytes()
  file.write_bytes(text[: len(text) // 2])
  with pytest.raises(InputError, match=f"{name}: not as model.safetensors was written with"):
    luke_jax.load(saved)
  file.unlink()
  with pytest.raises(InputError, match=f"{name}: missing; expected all files that"):
    luke_jax.load(saved)
  file.write_bytes(text)
  luke_jax.load(saved)


def test_names_beside_are_of_the_same_folder(saved):
  rewrite = {"format": "pt", BESIDE: json.dumps({"../vocab.json": "0" * 64})}
  save_file(load_file(saved / "model.safetensors"), saved / "model.safetensors", metadata=rewrite)
  with pytest.raises(InputError, match="expected names of files of the same directory"):
    luke_jax.load(saved)


def test_a_tensor_of_another_shape_is_refused_before_it_is_read(saved):
  """A sparse file takes no room on a disk, and may claim more than any memory holds."""
  file = saved / "model.safetensors"
  shapes = {name: x.shape for name, x in load_file(file).items()} | {BIAS: (2**38,)}
  header, at = {}, 0
  for name, shape in shapes.items():
    end = at + 4 * int(np.prod(shape))
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, end]}
    at = end
  text = json.dumps(header).encode()
  text += b" " * (-len(text) % 8)
  with file.open("wb") as sparse:
    sparse.write(struct.pack("<Q", len(text)) + text)
    sparse.truncate(8 + len(text) + at)
  with pytest.raises(InputError, match=rf"{BIAS}: shape \(274877906944,\); expected \(64,\)"):
    luke_jax.load(saved)


def test_an_index_that_names_no_file(saved):
  index = saved / "model.safetensors.index.json"
  for name in ("a\0b", "../model.safetensors"):
    index.write_text(json.dumps({"weight_map": {BIAS: name}}))
    with pytest.raises(InputError, match="expected a file of the same directory"):
      luke_jax.load(saved)


def rewritten(file, change):
  """Writes a file's tensors again, changed, with the metadata it had."""
  with safe_open(file, framework="np") as opened:
    metadata = opened.metadata()
  save_file(change(load_file(file)), file, metadata=metadata)


BIAS = "luke.encoder.layer.0.output.dense.bias"


@pytest.mark.parametrize(
  ("change", "message"),
  [
    (lambda t: {k: v for k, v in t.items() if k != BIAS}, f"damaged: {BIAS}: missing; expected"),
    (lambda t: t | {"a": t[BIAS]}, "damaged: a: not one of those that were written; expected"),
    (lambda t: t | {BIAS: t[BIAS] + 1}, f"damaged: {BIAS}: not as it was written; expected"),
    (
      lambda t: t | {BIAS: t[BIAS][::-1].copy()},
      f"damaged: {BIAS}: not as it was written; expected",
    ),
  ],
)
def test_tensors_that_are_not_those_that_were_written(saved, change, message):
  file = saved / "model.safetensors"
  rewritten(file, change)
  with pytest.raises(InputError) as refused:
    luke_jax.load(saved)
  assert str(refused.value).startswith(f"{file}: {message}")


def test_checksums_that_are_unreadable(saved):
  file = saved / "model.safetensors"
  save_file(load_file(file), file, metadata={"format": "pt", CHECKSUMS: "[]"})
  with pytest.raises(InputError, match=f"damaged: {CHECKSUMS}: unreadable; expected checksums"):
    luke_jax.load(saved)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_are_refused(saved, value):
  file = saved / "model.safetensors"
  tensors = load_file(file)
  tensors[BIAS][3] = value
  save_file(tensors, file)
  with pytest.raises(InputError, match=f"{BIAS}: 1 of 64 numbers are not finite; expected all"):
    luke_jax.load(saved)


def test_large_numbers_are_finite():
  large = np.full((3, 5), 3e38, np.float32)
  assert is_finite(large) and is_finite(np.zeros((0, 4), np.float32))
  large[1, 2] = np.nan
  with pytest.raises(InputError, match="x: 1 of 15 numbers are not finite"):
    check_finite("x", large)


def broken(model, value=np.nan):
  leaves = flatten(model.params)
  path = next(path for path in leaves if path.endswith("mlp_norm/scale"))
  leaves[path] = np.full_like(leaves[path], value)
  return dataclasses.replace(model, params=unflatten(leaves))


def test_nothing_that_is_not_finite_is_an_answer_or_a_file(tmp_path):
  model = tiny_model("LukeForEntityClassification")
  settings = {"luke_jax": {"task": "typing", "settings": {}}}
  model = dataclasses.replace(broken(model), rest=settings)
  with pytest.raises(InputError, match=r"logits: .* numbers are not finite"):
    model.predict("Tokyo is large.", span=(0, 5))
  with pytest.raises(InputError, match=r"output.LayerNorm.weight: 64 of 64 numbers are not finite"):
    model.save(tmp_path / "model")
  with pytest.raises(InputError, match=r"numbers beyond 6.55e\+04, the largest of float16"):
    broken(model, 1e6).save(tmp_path / "model", dtype="float16")
  assert not list(tmp_path.iterdir())
  masked = broken(tiny_model())
  with pytest.raises(InputError, match=r"logits: .* numbers are not finite"):
    predict_masks(masked, masked.processor, "Tokyo is <mask>.")


def test_a_header_of_another_length(saved):
  file = saved / "model.safetensors"
  data = file.read_bytes()
  (length,) = struct.unpack("<Q", data[:8])
  file.write_bytes(struct.pack("<Q", length + 1) + data[8:])
  with pytest.raises(InputError, match="not a whole safetensors file"):
    luke_jax.load(saved)
