"""`python -m benchmarks wiki` on the sample dump."""

import json
from pathlib import Path

import pytest

from benchmarks.wiki import main
from luke_jax.errors import InputError
from luke_jax.wiki.stages.build import STAGES

SAMPLE = Path(__file__).resolve().parents[2] / "data/sample_wiki"
DUMP = SAMPLE / "samplewiki-pages-articles-multistream.xml.bz2"


def test_a_run(tmp_path, capsys):
  output = tmp_path / "figures.json"
  main(DUMP, tokenizer=SAMPLE / "tokenizer", entities=50, output=output)
  out = capsys.readouterr().out
  summary, figures = json.loads(out.splitlines()[-1]), json.loads(output.read_text())
  assert summary == {name: figures[name] for name in summary}
  assert tuple(figures["stages"]) == (*STAGES[:-1], "scattered", STAGES[-1])
  assert 0 < sum(figures["stages"].values()) <= figures["seconds"]
  assert figures["records"] > 100 and 0.5 < figures["megabytes"] < 5
  for name in (*STAGES, "in all"):
    assert name in out


def test_a_dump_that_is_not_there_is_one_line(tmp_path):
  with pytest.raises(InputError, match=r"gone\.xml: no such file; expected a dump"):
    main(tmp_path / "gone.xml", tokenizer=SAMPLE / "tokenizer")
