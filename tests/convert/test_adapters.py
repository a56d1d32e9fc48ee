"""Adapters as directories: small, exact about their backbone, refused where anything is wrong."""

import dataclasses
import json
import shutil
import time

import jax
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sample_models import save_roberta, save_start
from tiny import same_params

import luke_jax
from luke_jax.cli import main
from luke_jax.convert.adapters import read_adapter, save_adapter
from luke_jax.convert.fine_tuning import fine_tuning_start
from luke_jax.convert.parts import Start
from luke_jax.convert.tensors import read_safetensors
from luke_jax.errors import InputError
from luke_jax.heads.attributes.files import Attributes
from luke_jax.heads.kinds import HEADS, heads_of
from luke_jax.model import Model
from luke_jax.models.adapters import add_adapters, stays
from luke_jax.models.keys import flatten, unflatten
from luke_jax.models.table import system_named

MARKERS = {"<ent>": "@", "<ent2>": "#"}
LABELS = ("none", "spouse", "works_for")
TEXT = "Ana lives in Castrel."


@pytest.fixture(scope="module")
def backbone(tmp_path_factory):
  return save_start(tmp_path_factory.mktemp("models") / "start")


def adapted(directory, system="luke", seed=0):
  """A model as after training: adapters, a head, biases and norms are not what they were."""
  entities = "special" if system == "luke" else "none"
  named = system_named(system)
  model = fine_tuning_start(
    directory, head="pair", labels=LABELS, new_words=MARKERS, entities=entities, system=named
  )
  params = flatten(add_adapters(model.params, named, 3, jax.random.key(seed)))
  rng = np.random.default_rng(seed)
  for path, x in params.items():
    if not stays(path, named):
      params[path] = np.asarray(x) + rng.normal(0, 0.05, x.shape).astype(np.float32)
  start = Start(directory, MARKERS, entities)
  parts = {name: getattr(model, name) for name in ("network", "labels", "tokenizer", "processor")}
  return Model(params=unflatten(params), start=start, rest=settings_of_task(), **parts)


def settings_of_task():
  return {"luke_jax": {"task": "relations", "settings": {}}}


def score(model):
  return model.predict(TEXT, head=(0, 3), tail=(13, 20)).score


@pytest.fixture
def saved(backbone, tmp_path):
  model = adapted(backbone)
  model.save(tmp_path / "adapter", adapter=True)
  return model, tmp_path / "adapter"


def test_an_adapter_predicts_what_its_model_does(saved, backbone, tmp_path):
  model, directory = saved
  again = luke_jax.load(directory, backbone=backbone)
  assert again.labels == LABELS and again.report == type(again.report)()
  assert score(again) == pytest.approx(score(model), abs=2e-3)
  small = sum(file.stat().st_size for file in directory.iterdir())
  assert small < sum(file.stat().st_size for file in backbone.iterdir()) / 2
  # A whole model, from either.
  model.save(tmp_path / "whole")
  whole = luke_jax.load(tmp_path / "whole")
  assert whole.start is None and score(whole) == pytest.approx(score(model), abs=1e-5)
  command = ["convert", str(directory), str(tmp_path / "converted"), "--backbone", str(backbone)]
  assert main(command) == 0
  converted = luke_jax.load(tmp_path / "converted")
  assert score(converted) == pytest.approx(score(model), abs=2e-3)
  assert "adapter" not in converted.rest["luke_jax"]  # it needs no backbone


SETTINGS = {  # of heads that are more than their kind and labels, none as it would be made afresh
  "pair": {"bias": True},
  "linking": {"vectors": 6, "width": 8, "rounds": 1, "described_by": "x"},
  "attributes": {"attributes": Attributes(("user",), (("ana", "bo"),), layers=1)},
}


@pytest.fixture(scope="module")
def words(tmp_path_factory):
  return save_roberta(tmp_path_factory.mktemp("models") / "roberta")


@pytest.mark.parametrize("system", [pytest.param("luke", marks=pytest.mark.slow), "roberta"])
@pytest.mark.parametrize("kind", [x for x in HEADS if x not in ("pretraining", "match")])
def test_heads_of_all_kinds_are_adapters(kind, system, backbone, words, tmp_path):
  named, entities = system_named(system), "special" if system == "luke" else "none"
  directory = backbone if system == "luke" else words
  if kind not in heads_of(named):
    pytest.skip("not of this system")

  def made(of, _):
    return heads_of(named)[kind].fresh(of, 3).clone(**SETTINGS.get(kind, {}))

  model = fine_tuning_start(
    directory, head=made, labels=LABELS, new_words={}, entities=entities, system=named
  )
  params = jax.tree.map(np.asarray, add_adapters(model.params, named, 2, jax.random.key(0)))
  start = Start(directory, {}, entities)
  save_adapter(dataclasses.replace(model, params=params, start=start), tmp_path / "adapter")
  again = read_adapter(tmp_path / "adapter", backbone=directory)
  assert again.network == model.network and again.architecture == model.architecture
  read, saved = flatten(again.params), flatten(params)
  assert read.keys() == saved.keys()
  assert all(np.allclose(read[path], saved[path], atol=2e-3) for path in read)


def test_a_saved_adapter_is_saved_again_without_loss(saved, backbone, tmp_path):
  _, directory = saved
  again = luke_jax.load(directory, backbone=backbone)
  again.save(tmp_path / "again", adapter=True)
  once, twice = (luke_jax.load(x, backbone=backbone) for x in (directory, tmp_path / "again"))
  old, new = flatten(once.params), flatten(twice.params)
  assert old.keys() == new.keys()
  assert all(np.allclose(old[path], new[path], atol=1e-5) for path in old)


def test_a_system_that_starts_from_another_has_adapters_too(tmp_path):
  roberta = save_roberta(tmp_path / "roberta")
  for system in ("roberta", "luke"):
    model = adapted(roberta, system)
    model.save(tmp_path / "adapters" / system, adapter=True)
    again = luke_jax.load(tmp_path / "adapters" / system, backbone=roberta)
    assert again.config.name == system
    assert score(again) == pytest.approx(score(model), abs=2e-3)


def test_several_adapters_stand_on_one_backbone(backbone, tmp_path):
  models = [adapted(backbone, seed=seed) for seed in (1, 2)]
  for number, model in enumerate(models):
    model.save(tmp_path / str(number), adapter=True)
  again = [luke_jax.load(tmp_path / str(number), backbone=backbone) for number in (0, 1)]
  kernels = [x.params["luke"]["encoder"]["layers"]["mlp"]["up"]["kernel"] for x in again]
  assert np.shares_memory(*kernels)
  for model, other in zip(models, again, strict=True):
    assert score(other) == pytest.approx(score(model), abs=2e-3)
  # As they predict, too: on CPUs in float32 each layer's kernel is a part of the shared array.
  layers = [x.predicting[1]["luke"]["encoder"]["layers_0"]["mlp"]["up"] for x in again]
  assert len({layer["kernel"].unsafe_buffer_pointer() for layer in layers}) == 1
  assert len({layer["adapter_out"].unsafe_buffer_pointer() for layer in layers}) == 2


def test_another_backbone_is_refused(saved, tmp_path):
  _, directory = saved
  other = save_start(tmp_path / "other")
  weights = other / "model.safetensors"
  data = bytearray(weights.read_bytes())
  data[-1] ^= 1
  weights.write_bytes(data)
  with pytest.raises(InputError, match=r"adapter of start .*other is another model"):
    luke_jax.load(directory, backbone=other)
  with pytest.raises(InputError, match=r"luke-jax get does not know; expected .* --backbone"):
    luke_jax.load(directory)
  with pytest.raises(InputError, match=r"other is a whole model"):
    luke_jax.load(other, backbone=directory)


def test_what_is_no_adapter_is_not_saved_as_one(backbone, tmp_path):
  with pytest.raises(InputError, match=r"expected one trained with optimizer\.adapter"):
    luke_jax.load(backbone).save(tmp_path / "x", adapter=True)
  model = adapted(backbone)
  leaves = flatten(model.params)
  kernel = next(path for path in leaves if path.endswith("up/kernel"))
  leaves[kernel] = leaves[kernel] + 1
  changed = Model.of(model.with_config(model.config, unflatten(leaves)))
  with pytest.raises(InputError, match=rf"up/kernel is not that of {backbone}; expected it unch"):
    changed.save(tmp_path / "x", adapter=True)
  assert not (tmp_path / "x").exists()


@pytest.mark.parity
def test_transformers_is_not_asked_about_an_adapter(saved, capsys):
  _, directory = saved
  assert main(["parity", str(directory)]) == 2
  assert "an adapter, which transformers does not read" in capsys.readouterr().err


def test_the_backbone_is_not_written_over(backbone):
  with pytest.raises(InputError, match=r"the adapter's backbone; expected another directory"):
    adapted(backbone).save(backbone, adapter=True)


def test_a_whole_model_replaces_an_adapter(saved, tmp_path):
  model, directory = saved
  model.save(directory)
  assert not (directory / "adapter.safetensors").exists()
  assert luke_jax.load(directory).start is None


@pytest.mark.parametrize(
  "damage, fault",
  [
    (lambda raw: raw["luke_jax"].pop("adapter"), r"no luke_jax\.adapter"),
    (lambda raw: raw["luke_jax"]["adapter"].update(backbone=3), r"no luke_jax\.adapter"),
    (lambda raw: raw["luke_jax"]["adapter"].update(entities="some"), r"no luke_jax\.adapter"),
    (lambda raw: raw["luke_jax"]["adapter"].update(new_words={"<ent>": 1}), r"no luke_jax"),
    (lambda raw: raw.update(model_type="cat"), r"model_type: 'cat'"),
  ],
)
def test_faults_of_the_config_are_named(saved, backbone, damage, fault):
  _, directory = saved
  raw = json.loads((directory / "config.json").read_text())
  damage(raw)
  (directory / "config.json").write_text(json.dumps(raw))
  with pytest.raises(InputError, match=fault):
    luke_jax.load(directory, backbone=backbone)


def test_missing_and_misshapen_arrays_are_named(saved, backbone):
  from safetensors.numpy import save_file

  _, directory = saved
  file = directory / "adapter.safetensors"
  tensors = read_safetensors(file)
  head = "value/classifier/kernel"
  save_file({name: x for name, x in tensors.items() if name != head}, file)
  with pytest.raises(InputError, match=r"no classifier/kernel"):
    luke_jax.load(directory, backbone=backbone)
  save_file(tensors | {head: tensors[head][:1]}, file)
  with pytest.raises(InputError, match=r"value/classifier/kernel: .*expected the arrays of Luke"):
    luke_jax.load(directory, backbone=backbone)
  save_file(tensors | {"value/unknown/kernel": tensors[head]}, file)
  with pytest.raises(InputError, match=r"value/unknown/kernel"):
    luke_jax.load(directory, backbone=backbone)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_are_refused_in_time(saved, backbone, data):
  _, directory = saved
  copy = directory.parent / "damaged"
  shutil.rmtree(copy, ignore_errors=True)
  shutil.copytree(directory, copy)
  file = copy / data.draw(st.sampled_from(["adapter.safetensors", "config.json"]))
  raw = bytearray(file.read_bytes())
  if data.draw(st.booleans()):
    raw = raw[: data.draw(st.integers(0, len(raw) - 1))]
  else:
    place = data.draw(st.integers(0, min(len(raw) - 1, 2000)))  # the header, or all of the config
    raw[place] = data.draw(st.integers(0, 255))
  file.write_bytes(raw)
  begun = time.process_time()
  try:
    luke_jax.load(copy, backbone=backbone)
  except InputError as fault:
    assert "\n" not in str(fault)
  assert time.process_time() - begun < 10


def test_a_file_larger_than_any_adapter_is_not_read(saved, backbone):
  _, directory = saved
  size = 2**34
  tensor = {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}
  header = json.dumps({"value/classifier/kernel": tensor}).encode()
  with (directory / "adapter.safetensors").open("wb") as file:  # sparse: it takes no room
    file.write(len(header).to_bytes(8, "little") + header)
    file.truncate(8 + len(header) + size)
  begun = time.process_time()
  with pytest.raises(InputError, match="bytes; expected an adapter of Luke"):
    luke_jax.load(directory, backbone=backbone)
  assert time.process_time() - begun < 5


def test_saving_leaves_nothing_half_written(backbone, tmp_path, monkeypatch):
  def full(*_, **__):
    raise OSError(28, "No space left on device")

  monkeypatch.setattr("luke_jax.convert.adapters.write_safetensors", full)
  with pytest.raises(InputError, match="No space left"):
    save_adapter(adapted(backbone), tmp_path / "adapter")
  assert not (tmp_path / "adapter").exists()


def test_what_stays_is_not_in_the_file(saved, backbone):
  model, directory = saved
  names = read_safetensors(directory / "adapter.safetensors")
  assert not any(stays(name.partition("/")[2], model.system) for name in names)
  again = luke_jax.load(directory, backbone=backbone)
  kept = [path for path in flatten(model.params) if stays(path, model.system)]
  one, other = flatten(model.params), flatten(again.params)
  assert kept and same_params(
    {path: one[path] for path in kept}, {path: other[path] for path in kept}
  )


def test_an_adapter_without_a_part_of_what_it_changed_is_refused(saved, backbone):
  """Of an array that the backbone has too, only the file itself can say that it is gone."""
  from safetensors import safe_open
  from safetensors.numpy import save_file

  _, directory = saved
  file = directory / "adapter.safetensors"
  with safe_open(file, framework="np") as opened:
    metadata = opened.metadata()
  tensors = read_safetensors(file)
  paths = (x.removeprefix("change/") for x in sorted(tensors) if x.startswith("change/"))
  changed = next(f"change/{x}" for x in paths if f"scale/{x}" not in tensors)  # in 32 bits
  rest = {name: x for name, x in tensors.items() if name != changed}
  save_file(rest, file, metadata=metadata)
  with pytest.raises(InputError, match=f"damaged: {changed}: missing"):
    luke_jax.load(directory, backbone=backbone)
  save_file(rest, file)  # without checksums
  with pytest.raises(InputError, match=f"no checksums, and no {changed.removeprefix('change/')}"):
    luke_jax.load(directory, backbone=backbone)


def test_scales_and_numbers_of_an_adapter_are_looked_at(saved, backbone):
  from safetensors.numpy import save_file

  _, directory = saved
  file = directory / "adapter.safetensors"
  tensors = read_safetensors(file)
  narrow = next(name for name, x in tensors.items() if x.dtype == np.int8)
  path = narrow.partition("/")[2]
  bias = "change/luke/encoder/layers/mlp/up/bias"
  for change, message in (
    ({f"scale/{path}": None}, f"scale/{path}: missing; expected scales"),
    ({"scale/other": np.ones(1, np.float32)}, "scale/other: no tensor for it; expected scales"),
    ({bias: np.full_like(tensors[bias], np.nan)}, f"{bias}: 32 of 32 numbers are not finite"),
  ):
    save_file({name: x for name, x in (tensors | change).items() if x is not None}, file)
    with pytest.raises(InputError, match=message):
      luke_jax.load(directory, backbone=backbone)
