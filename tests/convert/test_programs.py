"""Programs beside weights: equal to the model, and refused where they would not be."""

import dataclasses
import json
import subprocess
import sys
import zipfile

import jax
import numpy as np
import pytest
from small_systems import WITH_PROGRAM, drawn
from tiny import tiny_model

from luke_jax.cli import main
from luke_jax.cli.export_program import symbolic_inputs
from luke_jax.convert import programs
from luke_jax.convert.programs import (
  ABOUT,
  CARD,
  PROGRAM,
  check_program,
  read_program,
  write_program,
)
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.model import load

TEXT = "Beyoncé lives in Los Angeles."
WITHOUT_THIS_PACKAGE = """
import json, sys, zipfile
import numpy as np
from jax import export
from safetensors.numpy import load_file

with zipfile.ZipFile(f"{sys.argv[1]}/program.zip") as archive:
  about = json.loads(archive.read("about.json"))
  prepare, run = (
    export.deserialize(bytearray(archive.read(name)))
    for name in ("prepare.jaxexport", "run.jaxexport")
  )
tensors = load_file(f"{sys.argv[1]}/model.safetensors")
params = prepare.call({name: tensors[name] for name in about["tensors"]})
inputs = dict(np.load(f"{sys.argv[1]}/inputs.npz"))
np.savez(f"{sys.argv[1]}/outputs.npz", **run.call(params, inputs))
assert "luke_jax" not in sys.modules
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
  """A model of types, and its program."""
  folder = Path(tmp_path_factory.mktemp("programs")) / "types"
  tiny_model("LukeForEntityClassification").save(folder)
  assert main(["export-program", str(folder)]) == 0
  return folder


def copied(directory, tmp_path, **about):
  """A copy whose about.json is changed."""
  load(directory).save(tmp_path / "copy")
  with (
    zipfile.ZipFile(directory / PROGRAM) as source,
    zipfile.ZipFile(tmp_path / "copy" / PROGRAM, "w") as target,
  ):
    for name in source.namelist():
      data = source.read(name)
      if name == ABOUT:
        data = json.dumps(json.loads(data) | about)
      target.writestr(name, data)
  return tmp_path / "copy"


def inputs_of(model):
  spans = {"entity_spans": [(0, 7), (17, 28)]}
  return model.processor(TEXT, word_lengths=24, entity_lengths=3, **spans)


def test_it_computes_what_the_model_does(directory):
  model = load(directory)
  inputs = inputs_of(model)
  found = read_program(directory)(**inputs)
  np.testing.assert_allclose(found["logits"], model(**inputs)["logits"], atol=1e-6)


def test_logits_come_first_and_a_card_lists_what_comes(directory):
  model = load(directory)
  names = list(read_program(directory)(**inputs_of(model)))
  card = json.loads((directory / CARD).read_text())
  assert names == list(model(**inputs_of(model))) == list(card["outputs"])
  assert names[:2] == ["logits", "last_hidden_state"]
  assert card["labels"] == list(model.labels)
  assert card["outputs"]["logits"] == {"type": "float32", "shape": ["batch", len(model.labels)]}


@pytest.mark.slow
def test_it_runs_without_this_package(directory):
  model = load(directory)
  inputs = inputs_of(model)
  np.savez(directory / "inputs.npz", **inputs)
  subprocess.run([sys.executable, "-c", WITHOUT_THIS_PACKAGE, str(directory)], check=True)
  outputs, expected = np.load(directory / "outputs.npz"), model(**inputs)
  assert set(outputs.files) == expected.keys()
  np.testing.assert_allclose(outputs["logits"], expected["logits"], atol=1e-6)


def test_it_is_small_for_every_platform_and_says_what_made_it(directory):
  assert (directory / PROGRAM).stat().st_size < 70_000
  with zipfile.ZipFile(directory / PROGRAM) as archive:
    about = json.loads(archive.read(ABOUT))
  assert about["jax"] == jax.__version__ and about["platforms"] == ["cpu", "cuda", "tpu"]
  assert about["inputs"]["entity_position_ids"] == ["batch", "entities", "mention"]
  assert len(about["config"]) == 64 and about["date"].startswith("20")


def test_a_program_of_another_config_or_another_time_is_refused(directory, tmp_path, monkeypatch):
  again = f"expected what luke-jax export-program {tmp_path / 'copy'} writes anew"
  other = copied(directory, tmp_path, config="0" * 64)
  with pytest.raises(InputError, match=r"program.zip: of another config than .*config.json; ") as e:
    read_program(other)
  assert str(e.value).endswith(again)
  old = copied(directory, tmp_path, jax="0.4.30", date="2024-06-18")

  def too_old(data):
    raise ValueError("serialization version 1\nis not supported")

  monkeypatch.setattr(programs.export, "deserialize", too_old)
  said = (
    "written by JAX 0.4.30 on 2024-06-18, which JAX .* does not read .serialization version 1.; "
  )
  with pytest.raises(InputError, match=said) as e:
    read_program(old)
  assert str(e.value).endswith(again)


def test_what_is_no_program_is_refused(directory, tmp_path):
  copy = copied(directory, tmp_path)
  (copy / PROGRAM).write_bytes((directory / PROGRAM).read_bytes()[:1000])
  with pytest.raises(InputError, match=r"no program .*; expected what luke-jax export-program"):
    read_program(copy)
  (copy / PROGRAM).unlink()
  with pytest.raises(InputError, match=r"no program .*No such file"):
    read_program(copy)


def test_a_program_that_differs_is_not_kept(tmp_path, monkeypatch):
  model = tiny_model("LukeForEntityClassification")
  model.save(tmp_path / "model")
  changed = jax.tree.map(lambda x: x + 0.01, model.params)
  other = dataclasses.replace(model, params=changed)
  with pytest.raises(InputError, match=r"the program differs from the model"):
    write_program(other, symbolic_inputs(model), Path(tmp_path / "model"))
  assert not (tmp_path / "model" / PROGRAM).exists()


def test_weights_of_others_names_need_a_copy(tmp_path, capsys):
  model = tiny_model("LukeModel")
  model.save(tmp_path / "model")
  with pytest.raises(InputError, match=r"no tensor .*; expected .* --output DIRECTORY"):
    write_program(
      tiny_model("LukeForEntityClassification"), symbolic_inputs(model), Path(tmp_path / "model")
    )
  assert main(["export-program", str(tmp_path / "model"), "--output", str(tmp_path / "copy")]) == 0
  assert "computes what the model does" in capsys.readouterr().out
  inputs = inputs_of(model)
  found = read_program(tmp_path / "copy")(**inputs)
  expected = model(**inputs)
  for name, value in found.items():
    np.testing.assert_allclose(value, expected[name], atol=1e-5)


def test_an_adapter_needs_a_whole_model(tmp_path, capsys):
  (tmp_path / "adapter.safetensors").write_bytes(b"")
  assert main(["export-program", str(tmp_path)]) == 2
  assert "an adapter; expected --output DIRECTORY" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(("system", "kind"), WITH_PROGRAM)
def test_every_head_of_every_system_has_a_program(system, kind, tmp_path):
  model = drawn(system, kind)
  model.save(tmp_path / "model")
  specs = symbolic_inputs(model)
  write_program(model, specs, Path(tmp_path / "model"))
  check_program(model, specs, read_program(tmp_path / "model"))
