"""Arguments that do not fit are refused in one line, whatever is wrong with them."""

import re

import pytest

from luke_jax.cli import main


@pytest.mark.parametrize(
  ("line", "message"),
  [
    ("convert", "SOURCE, TARGET: missing; expected them"),
    ("convert a", "TARGET: missing; expected it"),
    ("entities add a", "TITLES, TARGET: missing; expected them"),
    ("convert a b c", "c: one argument too many; expected no more"),
    ("convert a b --lit", "--lit: no such option; expected another, perhaps --lite"),
    ("convert --lit a b", "--lit: no such option; expected another, perhaps --lite"),
    ("convert a b --qqq=3", "--qqq: no such option; expected another"),
    ("convert -x a b", "-x: no such option; expected another"),
    ("convert a b --entity_vocabs x", "--entity-vocabs: no such option; expected another, perhaps"),
    ("convert a b --dtype", "--dtype: no value; expected one"),
    ("convert a b --dtype int8", "--dtype: 'int8'; expected one of 'float32', 'bfloat16', 'float1"),
    ("predict-masks a b --span 15", "--span: too few values; expected 2"),
    ("predict-masks a b --span a b", "--span: ['a', 'b']; expected INT INT"),
    ("parity a --tolerance small", "--tolerance: 'small'; expected FLOAT"),
    ("predict-masks a b --top many", "--top: 'many'; expected INT"),
    ("train ner --epochs 5", "--epochs: no such option; expected --set run.epochs=5"),
    ("train ner --lr=5e-5 -x", "--lr: no such option; expected --set optimizer.learning_rate=5e-5"),
    ("train ner --batch_size -x", "--batch-size: no such option; expected --set data.batch_size=V"),
    ("train ner --trian a", "--trian: no such option; expected another, perhaps --train"),
    ("train ner --gpu 1", "--gpu: no such option; expected another"),
    ("predict a --epochs 5", "--epochs: no such option; expected another"),
    ("predict-masks a b --tops 3", "--tops: no such option; expected another, perhaps --top"),
  ],
)
def test_what_is_refused(line, message, capsys):
  assert main(line.split()) == 2
  printed = capsys.readouterr()
  assert printed.out == ""
  assert printed.err.startswith(f"luke-jax: {message}")
  assert printed.err.endswith(" --help\n")
  assert printed.err.count("\n") == 1


@pytest.mark.parametrize(
  ("name", "arguments"),
  [("convert", "SOURCE TARGET"), ("parity", "DIRECTORY"), ("entities add", "SOURCE TITLES TARGET")],
)
def test_help_names_the_positional_arguments(name, arguments, capsys):
  with pytest.raises(SystemExit):
    main([*name.split(), "--help"])
  printed = capsys.readouterr().out
  for argument in arguments.split():
    assert re.search(rf"^[│ ] +{argument} ", printed, re.MULTILINE)
  assert "{None}" not in printed


def test_an_option_is_read_with_either_dash(tmp_path, capsys):
  line = ["convert", str(tmp_path), str(tmp_path / "b"), "--entity_vocab", str(tmp_path / "v.json")]
  assert main(line) == 2
  assert "v.json: no such file" in capsys.readouterr().err


def test_choices_that_tyro_wraps_are_one_option(capsys):
  assert main(["data", "check", "x"]) == 2
  tasks = "typing,relations,ner,cloze,qa,classification,tagging,linking,labels,facts"
  expected = f"--task {{{tasks}}}: missing; expected it; see luke-jax data check --help"
  assert capsys.readouterr().err == f"luke-jax: {expected}\n"
  assert main(["wiki", "build"]) == 2
  assert "--tokenizer PATH, --output PATH: missing; expected them" in capsys.readouterr().err
