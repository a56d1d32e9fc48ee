"""Texts that would control a terminal: they are shown there, and kept in files."""

import io
import sys

import pytest
from rich.table import Table
from rich.text import Text

from luke_jax.cli import main
from luke_jax.cli.process import shown_streams
from luke_jax.show.predictions import shown
from luke_jax.tasks.ner.documents import NamesExample
from luke_jax.tasks.predictions import Span
from luke_jax.terminal import Console, visible

HOSTILE = "A\x1b]0;title\x07b\x1b[31mc\x9b5m\x7f\r[red]d[/x] :smile:\n\te"
SEEN = "A␛]0;title␇b␛[31mc\ufffd5m␡␍[red]d[/x] :smile:\n\te"


class Terminal(io.StringIO):
  """A terminal that remembers all that was written to it."""

  def isatty(self):
    return True


def test_each_character_is_shown_by_one():
  assert visible(HOSTILE) == SEEN and len(SEEN) == len(HOSTILE)


def test_a_console_shows_what_would_control_it():
  printed = io.StringIO()
  console = Console(file=printed, width=80)
  table = Table(HOSTILE.split("\n")[0])
  table.add_row("[b]\x1b[2J")
  console.print(table)
  console.print(Text("\x1b[2J"), HOSTILE)
  assert "\x1b" not in printed.getvalue() and "[b]␛[2J" in printed.getvalue()
  assert "[red]d[/x] :smile:" in printed.getvalue()


def test_predictions_in_a_terminal():
  text = "Ana\x1b[31m\x07 lives"
  drawn = shown(NamesExample("1", "", text, ()), [Span("Ana\x1b[31m", 0, 8, "P\x1b[0m\x07", 0.5)])
  printed = io.StringIO()
  Console(file=printed, width=80).print(drawn, soft_wrap=True)
  assert printed.getvalue().startswith("[Ana␛[31m P␛[0m␇]␇ lives\n  Ana␛[31m: P␛[0m")


@pytest.mark.parametrize(("stream", "expected"), [(Terminal, SEEN), (io.StringIO, HOSTILE)])
def test_what_commands_print(stream, expected, monkeypatch):
  for name in ("stdout", "stderr"):
    monkeypatch.setattr(sys, name, stream())
  with shown_streams():
    print(HOSTILE)
    sys.stderr.writelines([HOSTILE])
    Console(force_terminal=True, color_system="standard").print(Text("red", "red"))
  assert sys.stdout.getvalue() == f"{expected}\n\x1b[31mred\x1b[0m\n"
  assert sys.stderr.getvalue() == expected


def test_an_error_is_one_line_whatever_a_file_is_called(capsys):
  assert main(["score", "ner", "--gold", "a\x1b[31m\nb.jsonl", "--predictions", "c"]) == 2
  assert capsys.readouterr().err.startswith("luke-jax: a␛[31m b.jsonl: no such file")
