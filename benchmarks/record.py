"""A line of figures for each commit and machine, and what moved since the line before."""

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from luke_jax.convert.published import PUBLISHED
from luke_jax.errors import InputError
from luke_jax.files import check_place, cores_and_processor, read_json, read_text, write_text

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "benchmarks/record.jsonl"
MOVED = 0.1  # share of a figure from which a change is named: noise of a shared machine is less
TIMES = 3  # that a command is run, of which the least counts
IMPORT = """from time import process_time as now; start = now()
import luke_jax; print(f'{{"seconds": {now() - start}}}')"""
OF_TESTS = ("JAX_COMPILATION_CACHE", "JAX_PERSISTENT_CACHE")  # else programs are kept as users' are
SAMPLES = {"ner": "ner/test.jsonl", "labels": "politics/test.conll"}  # under data/english/sample
# Benchmarks that end within a minute, and the package that each needs.
PEERS = {
  "text": ("transformers", ("data/sample_model", "--rounds", "3")),
  "encoder": ("torch", ("--batch", "1x64+8", "--rounds", "3")),
}

Figures = Mapping[str, float]


class Line(NamedTuple):
  """Figures of a commit on a machine."""

  commit: str  # with + where the package has changes that are in none
  date: str
  machine: str
  load: float  # programs that ran at once, by and by: beside others all takes longer
  versions: Mapping[str, str]
  figures: Figures


class Ended(NamedTuple):
  """A command that has ended."""

  summary: Any  # the object on its last line, if any
  seconds: float  # of processors


def ended(*arguments: str) -> Ended:
  """Runs Python with arguments in the checkout; raises InputError if that fails."""
  before = resource.getrusage(resource.RUSAGE_CHILDREN)
  env = {x: y for x, y in os.environ.items() if not x.startswith(OF_TESTS)}
  command = [sys.executable, *arguments]
  done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
  after = resource.getrusage(resource.RUSAGE_CHILDREN)
  if done.returncode:
    said = (done.stderr.strip() or "it says nothing").splitlines()[-1]
    raise InputError(f"python {' '.join(arguments)}: {said}; expected it to run")
  last = (done.stdout.strip() or "null").splitlines()[-1]
  seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
  return Ended(json.loads(last) if last[0] == "{" else None, seconds)


def measured(suite: Path | None, wheel: Path | None) -> dict[str, float]:
  """Returns the figures that can be measured with what is installed and given."""
  figures: dict[str, float] = dict(sizes(ROOT / "luke_jax"))
  if wheel:
    figures["wheel, kB"] = wheel.stat().st_size / 1000
  imports = "import luke_jax, processor s"
  figures[imports] = min(ended("-c", IMPORT).summary["seconds"] for _ in range(2 * TIMES))
  if PUBLISHED["english"].is_here:
    for task, file in SAMPLES.items():
      command = ("evaluate", task, f"english/{task}", f"data/english/sample/{file}")
      figures[f"english/{task}, F1"] = ended("-m", "luke_jax", *command).summary["f1"]
    predict = ("-m", "luke_jax", "predict", "ner", "english/ner", "Ana lives in Paris.")
    figures["first prediction, processor s"] = min(ended(*predict).seconds for _ in range(TIMES))
  if suite:
    figures["suite, processor s"] = suite_seconds(suite)
  for name, (package, options) in PEERS.items():
    if find_spec(package):
      summary = ended("-m", "benchmarks", name, *options).summary
      ratios = summary.get("ratios") or {"": summary["ratio"]}
      figures |= {f"{name} {x}".strip() + ", times as fast": y for x, y in ratios.items()}
  return {name: float(f"{value:.6g}") for name, value in figures.items()}


def sizes(package: Path) -> Figures:
  """Returns the number of modules of a package, and of their lines."""
  lines = [len(x.read_text(encoding="utf-8").splitlines()) for x in package.rglob("*.py")]
  return {"package, modules": len(lines), "package, lines": sum(lines)}


def suite_seconds(path: Path) -> float:
  """Returns the seconds of all tests in the file that the suite writes for PROCESSOR_FILE."""
  tests = read_json(path)
  if not isinstance(tests, dict) or not tests:
    raise InputError(
      f"{path}: no seconds of tests; expected the file of PROCESSOR_FILE=… make test"
    )
  return sum(used["all"] for used in tests.values())


def read_lines(path: Path) -> list[Line]:
  """Returns the lines of a record, none where there is no file."""
  lines = read_text(path).splitlines() if path.exists() else []
  read = []
  for number, text in enumerate(lines, start=1):
    try:
      read.append(Line(**json.loads(text)))
    except (ValueError, TypeError):
      expected = "expected a line of python -m benchmarks record: remove it"
      raise InputError(f"{path}: line {number}: {text!r:.60}; {expected}") from None
  return read


def moved(before: Figures, now: Figures) -> Iterator[tuple[str, float, float]]:
  """Yields the figures that differ by more than a tenth, with both values."""
  for name in before.keys() & now.keys():
    if before[name] and abs(now[name] / before[name] - 1) > MOVED:
      yield name, before[name], now[name]


def with_line(lines: Sequence[Line], line: Line) -> list[Line]:
  """Returns lines with another at the end, instead of that of its commit and machine."""
  return [x for x in lines if (x.commit, x.machine) != (line.commit, line.machine)] + [line]


def commit() -> str:
  """Returns the commit of the checkout, with + where the package differs from it."""
  if not shutil.which("git"):
    return "unknown"
  git = ("git", "-C", str(ROOT))
  head = subprocess.run([*git, "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True)
  changed = subprocess.run([*git, "status", "--porcelain", "luke_jax"], capture_output=True)
  return (head.stdout.strip() or "unknown") + "+" * bool(changed.stdout)


def main(
  *, output: Path = RECORD, suite: Path | None = None, wheel: Path | None = None, keep: bool = True
) -> None:
  """Measures this commit in a minute, and says what moved by more than a tenth.

  The figures are a line of the record, after those of other commits and machines; the line before
  it of this machine is what they are compared with. Peers are measured where they are installed.

      python -m benchmarks record --suite seconds.json --wheel dist/luke_jax-0.2.0-py3-none-any.whl

  Args:
    output: File of the record, lines of JSON.
    suite: File that make test has written for PROCESSOR_FILE.
    wheel: Wheel of this commit.
    keep: Write the line; else it is only compared.
  """
  check_place(output)
  for path in filter(None, (suite, wheel)):
    if not path.is_file():
      raise InputError(f"{path}: no such file; expected it, or the command without it")
  lines, machine = read_lines(output), cores_and_processor()
  versions = {"python": sys.version.split()[0], "jax": version("jax")}
  date = time.strftime("%Y-%m-%d", time.gmtime())
  figures = measured(suite, wheel)
  line = Line(commit(), date, machine, round(os.getloadavg()[0], 1), versions, figures)
  lines = with_line(lines, line)
  before = next((x for x in reversed(lines[:-1]) if x.machine == machine), None)
  for name, value in line.figures.items():
    print(f"{value:12g}  {name}")
  if before is None:
    print(f"no line of this machine before: {machine}")
    before = line
  for name, old, new in sorted(moved(before.figures, line.figures)):
    since = f"{before.commit} (load {before.load:g}, now {line.load:g})"
    print(f"moved since {since}: {name}: {old:g} -> {new:g} ({new / old - 1:+.0%})")
  if keep:
    write_text(output, "".join(f"{json.dumps(x._asdict())}\n" for x in lines))
