"""The commands as a user runs them."""

import importlib.metadata
import os
import re
import shlex
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import jax
import numpy as np
import pytest
from tiny import tiny_model

import luke_jax
from luke_jax.cli import COMMANDS, FIRST, MOVED, main
from luke_jax.cli import command as command_function
from luke_jax.cli.arguments import bound
from luke_jax.files import program_folder

ROOT = Path(__file__).resolve().parents[2]


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


def test_help_names_the_commands_that_people_use_first_and_help_all_every_one():
  for option, names in (("--help", FIRST), ("--help-all", COMMANDS)):
    shown = command(option)
    assert shown.returncode == 0
    rows = re.findall(r"^  (\S+(?: [a-z]+)?)  ", shown.stdout, re.MULTILINE)
    assert sorted(rows) == sorted(names)
  assert len(FIRST) <= 15 and len(COMMANDS) <= 40


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name, capsys):
  with pytest.raises(SystemExit) as left:
    main([*name.split(), "--help"])
  assert left.value.code == 0
  described = capsys.readouterr().out.partition("\n")[2].replace("\\\n", " ")
  examples = [x.strip() for x in described.splitlines() if re.match(" *luke-jax [a-z]", x)]
  assert any(line.startswith(f"luke-jax {name}") for line in examples)
  for line in examples:
    copied = shlex.split(line.partition(" > ")[0])
    called = next(x for x in COMMANDS if copied[1 : 1 + len(x.split())] == x.split())
    run = command_function(called)
    assert callable(bound(run, called, copied[1 + len(called.split()) :]))
    for path in copied:
      assert (
        not path.startswith(("experiments/", "data/")) or (ROOT / path.partition(":")[0]).exists()
      )


def test_the_first_screen_says_where_to_begin(capsys):
  assert main([]) == 0
  shown = capsys.readouterr().out
  assert main(["--help"]) == 0
  assert capsys.readouterr().out == shown
  begin = shown.partition("Begin here:\n")[2].partition("\n\n")[0]
  for line in begin.splitlines():
    words = shlex.split(line)
    run = command_function(words[1])
    assert callable(bound(run, words[1], words[2:]))
  assert all(len(line) <= 100 for line in shown.splitlines())
  assert len(shown.splitlines()) <= 40
  assert "Status 0: done. 1:" in shown


def test_help_of_a_command_by_its_name(capsys):
  with pytest.raises(SystemExit) as left:
    main(["help", "wiki", "build"])
  assert left.value.code == 0
  assert capsys.readouterr().out.startswith("usage: luke-jax wiki build ")


@pytest.mark.parametrize(
  ("given", "meant"),
  [
    ("entites add", "entities add"),
    ("evalute ner", "evaluate"),
    ("trian", "train"),
    ("Train ner", "train"),
    ("wiki biuld", "wiki build"),
    ("wiki-build", "wiki build"),
    ("build wiki", "wiki build"),
    ("wiki exprot", "wiki export"),
    ("align", "graph align"),
    ("masks", "predict-masks"),
    ("annotate", "wiki annotate"),
    ("docter", "doctor"),
    ("version", "--version"),
    ("--hlep", "--help"),
  ],
)
def test_a_mistyped_command_names_the_nearest(given, meant, capsys):
  assert main(given.split()) == 2
  said = capsys.readouterr().err
  assert said.endswith(f", perhaps {meant!r}\n") and said.count("\n") == 1


@pytest.mark.parametrize("name", MOVED)
def test_a_command_that_has_moved_says_where(name, capsys):
  assert main([*name.split(), "a b.py", "--steps", "3"]) == 2
  place = MOVED[name]
  said = f"in a checkout of the repository: {place} 'a b.py' --steps 3\n"
  assert capsys.readouterr().err == f"luke-jax: {name}: moved out of the package; {said}"
  assert find_spec(place.removeprefix("python -m "))


def test_a_command_like_no_other_is_not_guessed(capsys):
  assert main(["xyzzy"]) == 2
  assert capsys.readouterr().err == (
    "luke-jax: 'xyzzy': no such command; expected one of luke-jax --help-all\n"
  )
  assert main(["wiki", "xyzzy"]) == 2
  assert "expected one of wiki build, wiki show, wiki join," in capsys.readouterr().err


@pytest.mark.parametrize(
  ("line", "meant"),
  [
    ("train nre --output x", "an experiment file or one of typing, .*, perhaps ner"),
    ("train nre --train a --output x", "perhaps ner"),
    ("train {tiny} --output x --set model.hiden_size=3", "perhaps model.hidden_size"),
    ("train {tiny} --output x --set optimiser.learning_rate=1", "optimizer.learning_rate"),
    ("train {tiny} --output x --set modle=luke-base", "perhaps model$"),
    ("evaluate nre a b", "task 'nre': unknown; expected one of typing, .*, perhaps ner$"),
    ("predict english/ner text", "task 'english/ner': unknown; .*, perhaps ner english/ner$"),
    ("convert a b --dtype floot32", "perhaps float32; see"),
  ],
)
def test_a_mistyped_value_or_field_names_the_nearest(line, meant, capsys):
  tiny = ROOT / "experiments" / "synthetic.py:tiny"
  assert main(line.format(tiny=tiny).split()) == 2
  said = capsys.readouterr().err
  assert re.search(meant, said.rstrip("\n")) and said.count("\n") == 1


def test_convert(saved, tmp_path):
  done = command("convert", saved, tmp_path / "small", "--lite", "--dtype", "bfloat16")
  assert done.returncode == 0, done.stderr
  assert "every tensor found its place" in done.stdout
  model = luke_jax.load(tmp_path / "small")
  assert model.config.entity_vocab_size == 4


def test_a_copy_keeps_the_licence_of_what_it_is_a_copy_of(saved, tmp_path):
  card = "---\nlicense: apache-2.0\nlanguage: ja\n---\n# A model of others\n"
  (saved / "README.md").write_text(card, encoding="utf-8")
  for source, target in ((saved, tmp_path / "one"), (tmp_path / "one", tmp_path / "two")):
    assert main(["convert", str(source), str(target)]) == 0
    written = (target / "README.md").read_text(encoding="utf-8")
    assert "\nlicense: apache-2.0\n" in written and "\nlanguage:\n- ja\n" in written
    assert "That of model, by its card: apache-2.0." in written


def test_a_fault_is_one_line_and_status_2(saved, tmp_path, capfd):
  (saved / "config.json").unlink()
  assert main(["convert", str(saved), str(tmp_path / "target")]) == 2
  printed, told = capfd.readouterr()
  assert printed == ""
  assert told.count("\n") == 1
  assert told.startswith(f"luke-jax: {saved}: no config.json")
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


@pytest.mark.parametrize(
  "fault",
  [
    MemoryError("Out of memory, 9 GiB asked for"),
    jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory, 9 GiB asked for\nlong story"),
    jax.errors.JaxRuntimeError("INTERNAL: Out of memory, 9 GiB asked for\nlong story"),
  ],
)
def test_memory_that_does_not_suffice_is_one_line(fault, monkeypatch, capsys):
  def full(*_, **__):
    raise fault

  monkeypatch.setattr("luke_jax.cli._run", full)
  assert main(["doctor"]) == 2
  told = capsys.readouterr().err
  assert "9 GiB asked for; expected less of it, as a smaller batch or a smaller model" in told
  assert told.count("\n") == 1


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


def test_commands_keep_programs_where_they_can(tmp_path, monkeypatch):
  for name in ("JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"):
    monkeypatch.delenv(name, raising=False)
  monkeypatch.setattr("sys.argv", ["luke-jax", "--version"])
  (tmp_path / "a file").write_text("")
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "a file"))
  assert main() == 0 and "JAX_COMPILATION_CACHE_DIR" not in os.environ  # nowhere to keep them
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "cache"))
  assert main() == 0
  folder = os.environ["JAX_COMPILATION_CACHE_DIR"]
  assert Path(folder).is_dir() and Path(folder).is_relative_to(tmp_path / "cache" / "compiled")
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "other"))
  assert main() == 0 and os.environ["JAX_COMPILATION_CACHE_DIR"] == folder  # the user's own stays


def test_commands_run_without_a_home_and_without_jaxlib(tmp_path, monkeypatch):
  def missing(*_):
    raise importlib.metadata.PackageNotFoundError("jaxlib")

  def homeless():
    raise RuntimeError("Could not determine home directory.")

  for name in ("LUKE_JAX_CACHE", "XDG_CACHE_HOME"):
    monkeypatch.delenv(name, raising=False)
  monkeypatch.setattr("importlib.metadata.version", missing)
  monkeypatch.setattr(Path, "home", homeless)
  assert program_folder().parent.parent == Path(".cache/luke_jax").absolute()
  assert program_folder().name.startswith("jaxlib-none-")
