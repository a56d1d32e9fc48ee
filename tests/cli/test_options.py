"""Options whose values cannot be meant are refused in one line, before anything is read."""

import dataclasses

import pytest

from luke_jax.cli import main
from luke_jax.cli.evaluate import Aim, Reports
from luke_jax.cli.experiment import parse_seeds
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import lines
from luke_jax.formats.records import read_records
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training.mesh import MeshShape
from luke_jax.wiki.stages.sources import Settings, source_of


@pytest.mark.parametrize(
  ("line", "message"),
  [
    ("train a --output b --profile -1", "--profile: -1; expected a number of steps"),
    ("train a --output b --folds 1", "--folds: 1; expected 2 or more"),
    ("train a --output b --folds 2 --curve", "--curve: with --folds; expected one"),
    ("train a --output b --curve --profile 2", "--profile: with several trainings; expected it"),
    ("train ner --output b --train a", "--model: missing; expected it, to fine-tune a model"),
    ("train ner --output b --model a", "--train: missing; expected it, to fine-tune a model"),
    ("entities describe a --output b --examples 0", "--examples: 0; expected a whole number"),
  ],
)
def test_options_of_commands(line, message, capsys):
  assert main(line.split()) == 2
  assert capsys.readouterr().err.startswith(f"luke-jax: {message}")


def test_seeds_are_a_range_or_a_list():
  assert parse_seeds("3..5") == [3, 4, 5]
  assert parse_seeds("3,1,3") == [3, 1]
  for text in ("5..3", "1-3", "", "one"):
    with pytest.raises(InputError, match=r"--seeds: .*; expected first..last"):
      parse_seeds(text)


@pytest.mark.parametrize(
  ("options", "message"),
  [
    (Reports(mistakes=-1), "--mistakes: -1; expected 0 or more"),
    (Aim(precision=1.0), "--precision: 1; expected a share above 0 and below 1"),
    (Aim(recall=0.0), "--recall: 0; expected a share above 0 and below 1"),
    (Aim(0.9, 0.9), "--recall: beside --precision; expected one of them"),
  ],
)
def test_options_of_an_evaluation(options, message):
  with pytest.raises(InputError, match=message):
    options.check()


@pytest.mark.parametrize(
  ("make", "message"),
  [
    (lambda: MeshShape(fsdp="some"), r"mesh.fsdp: 'some'; expected 'all', 'entities' or 'none'"),
    (lambda: SyntheticPretraining(masked=0.0), "task.masked: 0.0; expected a share above 0"),
  ],
)
def test_settings(make, message):
  with pytest.raises(InputError, match=message):
    make()


def test_files_that_hold_no_examples(tmp_path):
  with pytest.raises(InputError, match=r"a directory; expected a file of examples"):
    next(lines(Path(tmp_path)))
  table = Path(tmp_path / "a.csv")
  table.write_text("text,label\n")
  with pytest.raises(InputError, match=r"a.csv: comma-separated values; expected JSON lines"):
    read_records(table, lambda *x: x, None)


def test_sources_of_a_build(tmp_path):
  settings = Settings((), Path("tokenizer"))
  with pytest.raises(InputError, match="no dump; expected one or more files of a wiki's pages"):
    source_of(settings, Path(tmp_path))
  dump = Path(tmp_path / "a.xml")
  dump.write_text("<mediawiki>\n")
  named = dataclasses.replace(settings, dumps=(dump,), names=Path("names.tsv"))
  with pytest.raises(InputError, match="--names: for texts without links; expected none with a"):
    source_of(named, Path(tmp_path))
