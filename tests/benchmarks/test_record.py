"""The record of figures by commit, and the picture of it."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

from benchmarks import record
from benchmarks.__main__ import main
from benchmarks.curves import picture
from benchmarks.record import RECORD, ROOT, Line, ended, moved, read_lines, sizes, suite_seconds
from luke_jax.errors import InputError

SVG = "{http://www.w3.org/2000/svg}"


def line(commit, machine="a", **figures):
  return Line(commit, "2026-11-30", machine, 0.5, {"jax": "0.10"}, figures)


def write(path, *lines):
  path.write_text("".join(f"{json.dumps(x._asdict())}\n" for x in lines))
  return path


@pytest.fixture
def measured(monkeypatch):
  """Figures in place of measurements, on machine `a` at commit `now`."""
  figures = {"time": 2.0, "size": 100.0}
  monkeypatch.setattr(record, "measured", lambda suite, wheel: dict(figures))
  monkeypatch.setattr(record, "cores_and_processor", lambda: "a")
  monkeypatch.setattr(record, "commit", lambda: "now")
  monkeypatch.setattr(record.os, "getloadavg", lambda: (2.0, 1.0, 1.0))
  return figures


def test_a_line_is_compared_with_the_last_of_its_machine(measured, tmp_path, capsys):
  before = (line("x", time=9.0), line("y", time=1.5, size=109.0), line("z", "b", time=1.0))
  path = write(tmp_path / "record.jsonl", *before)
  assert main(["record", "--output", str(path)]) == 0
  said = [x for x in capsys.readouterr().out.splitlines() if x.startswith("moved")]
  assert said == ["moved since y (load 0.5, now 2): time: 1.5 -> 2 (+33%)"]
  *others, last = read_lines(path)
  assert tuple(others) == before
  assert (last.commit, last.machine, last.figures) == ("now", "a", measured)


def test_a_commit_measured_again_has_one_line(measured, tmp_path, capsys):
  path = write(tmp_path / "record.jsonl", line("now", time=1.0), line("now", "b", time=1.0))
  assert main(["record", "--output", str(path)]) == 0
  assert "no line of this machine before: a" in capsys.readouterr().out
  assert [(x.commit, x.machine) for x in read_lines(path)] == [("now", "b"), ("now", "a")]


def test_no_keep_writes_nothing(measured, tmp_path):
  assert main(["record", "--output", str(tmp_path / "record.jsonl"), "--no-keep"]) == 0
  assert not list(tmp_path.iterdir())


def test_more_than_a_tenth_has_moved():
  before = {"a": 10.0, "b": 10.0, "c": 10.0, "zero": 0.0, "gone": 1.0}
  now = {"a": 10.9, "b": 11.2, "c": 8.0, "zero": 1.0, "new": 1.0}
  assert sorted(moved(before, now)) == [("b", 10.0, 11.2), ("c", 10.0, 8.0)]


def test_what_is_measured(tmp_path):
  (tmp_path / "a/b").mkdir(parents=True)
  (tmp_path / "a/x.py").write_text("1\n2\n")
  (tmp_path / "a/b/y.py").write_text("1\n")
  assert sizes(tmp_path / "a") == {"package, modules": 2, "package, lines": 3}
  (tmp_path / "s.json").write_text('{"test_a": {"all": 1.5}, "test_b": {"all": 2, "tracing": 1}}')
  assert suite_seconds(tmp_path / "s.json") == 3.5
  seconds = ended("-c", record.IMPORT)
  assert 0 < seconds.summary["seconds"] < seconds.seconds
  with pytest.raises(InputError, match=r"python -c 1/0: ZeroDivisionError: .*; expected it to run"):
    ended("-c", "1/0")


@pytest.mark.slow
def test_a_whole_line(tmp_path, capsys):
  (tmp_path / "a.whl").write_bytes(bytes(3000))
  given = ["--output", str(tmp_path / "r.jsonl"), "--wheel", str(tmp_path / "a.whl")]
  assert main(["record", *given]) == 0
  (read,) = read_lines(tmp_path / "r.jsonl")
  assert read.figures["wheel, kB"] == 3 and read.figures["import luke_jax, processor s"] > 0


@pytest.mark.parametrize(
  ("arguments", "fault"),
  [
    ("record --suite no.json", "no.json: no such file; expected it, or the command without it"),
    ("record --suite bad.jsonl", "bad.jsonl: no seconds of tests; expected the file of PROCESSOR_"),
    ("record --output bad.jsonl", "bad.jsonl: line 2: '{\"commit\": 1}'; expected a line of"),
    ("curves --record bad.jsonl", "bad.jsonl: line 2: '{\"commit\": 1}'; expected a line of"),
    ("curves --record none.jsonl", "none.jsonl: no lines; expected some of python -m benchmarks"),
    ("curves --output no/a.svg", "no/a.svg: "),
  ],
)
def test_a_fault_is_one_line(arguments, fault, tmp_path, monkeypatch, capsys):
  monkeypatch.chdir(tmp_path)
  monkeypatch.setattr(record, "ended", lambda *arguments: record.Ended({"seconds": 1, "f1": 1}, 1))
  bad = write(tmp_path / "bad.jsonl", line("x", time=1.0))
  bad.write_text(bad.read_text() + '{"commit": 1}\n')
  assert main(arguments.split()) == 2
  said = capsys.readouterr().err
  assert said.startswith(f"luke-jax: {fault}") and said.count("\n") == 1


def test_curves_go_from_the_lowest_to_the_highest_value():
  lines = [line("x", time=1.0), line("<&>", "b", time=3.0, size=1.0), line("y", time=2.0)]
  root = ElementTree.fromstring(picture(lines))
  time, size = root.findall(f"{SVG}g")
  texts = [x.text for x in time.findall(f"{SVG}text")]
  assert texts[:2] == ["time", "1 to 3"]
  points = [x.get("points").split() for x in time.findall(f"{SVG}polyline")]
  assert [len(x) for x in points] == [2, 1]  # a line of each machine
  heights = [float(y.split(",")[1]) for y in (*points[0], *points[1])]
  assert heights[0] > heights[1] > heights[2]
  titles = [x.text for x in time.iter(f"{SVG}title")]
  assert titles == ["x, 2026-11-30: 1", "y, 2026-11-30: 2", "<&>, 2026-11-30: 3"]
  assert [x.text for x in root.findall(f"{SVG}text")] == ["a", "b"]
  assert len(size.findall(f"{SVG}circle")) == 1


def test_the_picture_of_the_docs_is_that_of_the_record():
  lines = read_lines(RECORD)
  assert lines
  assert (ROOT / "docs/record.svg").read_text(encoding="utf-8") == picture(lines)
