"""`python -m benchmarks`: its list, and what every benchmark says of itself."""

import pkgutil

import pytest

import benchmarks
from benchmarks.__main__ import BENCHMARKS, main


def test_the_list_names_every_benchmark(capsys):
  assert main([]) == 0
  printed = capsys.readouterr().out
  assert all(f"  {name} " in printed for name in BENCHMARKS)
  assert {x.name for x in pkgutil.iter_modules(benchmarks.__path__)} > BENCHMARKS.keys()


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_has_help_with_an_example(name, capsys):
  with pytest.raises(SystemExit) as left:
    main([name, "--help"])
  assert left.value.code == 0
  printed = capsys.readouterr().out
  assert printed.startswith(f"usage: python -m benchmarks {name} ")
  assert printed.count(f"python -m benchmarks {name}") > 1


@pytest.mark.parametrize(
  ("line", "said"),
  [
    ("encodr", "encodr: no such benchmark; expected one of encoder, engine, "),
    ("encoder --rounds many", "--rounds: 'many'; expected INT; see python -m benchmarks encoder"),
  ],
)
def test_a_fault_is_one_line(line, said, capsys):
  assert main(line.split()) == 2
  printed = capsys.readouterr().err
  assert printed.startswith(f"luke-jax: {said}") and printed.count("\n") == 1
