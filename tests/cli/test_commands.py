"""The commands as a user runs them."""

import subprocess
import sys
import time

import numpy as np
import pytest
from tiny import tiny_model

import luke_jax
from luke_jax.cli import COMMANDS, main


def command(*arguments):
  return subprocess.run(
    [sys.executable, "-m", "luke_jax", *map(str, arguments)],
    capture_output=True,
    text=True,
    check=False,
  )


@pytest.fixture
def saved(tmp_path):
  tiny_model().save(tmp_path / "model")
  return tmp_path / "model"


def test_help_names_every_command():
  done = command("--help")
  assert done.returncode == 0
  for name in COMMANDS:
    assert name in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name, capsys):
  with pytest.raises(SystemExit) as left:
    main([*name.split(), "--help"])
  assert left.value.code == 0
  assert f"luke-jax {name} " in capsys.readouterr().out.partition("\n")[2]


def test_a_mistyped_command_names_the_nearest(capsys):
  assert main(["entites", "add"]) == 2
  assert "perhaps 'entities add'" in capsys.readouterr().err


def test_convert(saved, tmp_path):
  done = command("convert", saved, tmp_path / "small", "--lite", "--dtype", "bfloat16")
  assert done.returncode == 0, done.stderr
  assert "every tensor found its place" in done.stdout
  model = luke_jax.load(tmp_path / "small")
  assert model.config.entity_vocab_size == 4


def test_a_fault_is_one_line_and_status_2(saved, tmp_path):
  (saved / "config.json").unlink()
  done = command("convert", saved, tmp_path / "target")
  assert done.returncode == 2
  assert done.stdout == ""
  assert done.stderr.count("\n") == 1
  assert done.stderr.startswith(f"luke-jax: {saved}: no config.json")
  assert not (tmp_path / "target").exists()


def test_converting_onto_itself_is_refused(saved, capsys):
  assert main(["convert", str(saved), str(saved)]) == 2
  assert "expected another directory" in capsys.readouterr().err


def test_entities_add(saved, tmp_path, capsys):
  (tmp_path / "titles.txt").write_text("Kyoto\nNara\n", encoding="utf-8")
  np.save(tmp_path / "vectors.npy", np.ones((2, 32), np.float32))
  target = tmp_path / "grown"
  arguments = ["entities", "add", saved, tmp_path / "titles.txt", target]
  assert main([*map(str, arguments), "--vectors", str(tmp_path / "vectors.npy")]) == 0
  assert "2 entities added, ids 7 to 8" in capsys.readouterr().out
  assert luke_jax.load(target).processor.entity_vocab.id("Nara") == 8


def test_entities_add_names_the_line(saved, tmp_path, capsys):
  (tmp_path / "titles.txt").write_text("Kyoto\n\nNara\n", encoding="utf-8")
  arguments = ["entities", "add", saved, tmp_path / "titles.txt", tmp_path / "grown"]
  assert main(list(map(str, arguments))) == 2
  assert "titles.txt: line 2 is empty; expected a title" in capsys.readouterr().err


def test_titles_are_lines_and_nothing_else(saved, tmp_path, capsys):
  (tmp_path / "titles.txt").write_bytes("\ufeffKyoto\nA\u2028B\n".encode())
  arguments = ["entities", "add", saved, tmp_path / "titles.txt", tmp_path / "grown"]
  assert main(list(map(str, arguments))) == 0
  vocab = luke_jax.load(tmp_path / "grown").processor.entity_vocab
  assert (vocab.title(7), vocab.title(8)) == ("Kyoto", "A\u2028B")
  assert main(["entities", "add", str(saved), str(tmp_path / "titles.txt"), str(saved)]) == 2
  assert "expected another directory" in capsys.readouterr().err


def test_a_fault_of_the_system_is_one_line_too(saved, tmp_path, capsys):
  (tmp_path / "file").write_text("mine")
  assert main(["convert", str(saved), str(tmp_path / "file")]) == 2
  assert capsys.readouterr().err.strip().count("\n") == 0


def test_help_of_a_group(capsys):
  assert main(["entities", "--help"]) == 0
  assert "entities add" in capsys.readouterr().out


def test_vectors_are_never_unpickled(saved, tmp_path, capsys):
  (tmp_path / "titles.txt").write_text("Kyoto\n", encoding="utf-8")
  np.save(tmp_path / "evil.npy", np.array([{}], dtype=object), allow_pickle=True)
  arguments = ["entities", "add", saved, tmp_path / "titles.txt", tmp_path / "grown"]
  assert main([*map(str, arguments), "--vectors", str(tmp_path / "evil.npy")]) == 2
  assert "expected an array in a .npy file" in capsys.readouterr().err


def test_importing_is_quick_and_brings_no_framework():
  code = (
    "import sys, luke_jax; heavy = {'jax', 'tensorflow', 'torch', 'apache_beam'}; "
    "print(sorted(heavy & set(sys.modules)))"
  )
  seconds = []
  for _ in range(3):
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds.append(time.perf_counter() - start)
    assert done.stdout == "[]\n"
  assert min(seconds) < 0.3


def test_loading_brings_no_other_framework(saved):
  code = (
    f"import sys, luke_jax; luke_jax.load({str(saved)!r}); "
    "print(sorted({'tensorflow', 'torch', 'apache_beam', 'transformers'} & set(sys.modules)))"
  )
  done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
  assert done.stdout == "[]\n"
