"""A stage is made once, goes on after a fault, and is made anew when what it is made of changes."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from toy_stages import Write

from luke_jax import files
from luke_jax.errors import InputError
from luke_jax.files import sizes, write_json
from luke_jax.wiki.stages.engines import beam, local
from luke_jax.wiki.stages.progress import StageProgress
from luke_jax.wiki.stages.stage import MakeShard, Stage, finish, finished, shard_notes


def stage(folder, log, made_of="a", shards=5, **options):
  return Stage(folder / "toy", shards, Write(folder / "toy", log, **options), {"of": made_of})


def contents(folder):
  return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def runs(log):
  return log.read_text().split() if log.exists() else []


@pytest.fixture
def log(tmp_path):
  return tmp_path / "log"


@pytest.fixture
def here():
  with local(1) as engine:
    yield engine


def test_a_second_run_does_nothing(tmp_path, log, here):
  made = finish(stage(tmp_path, log), here)
  assert made.fresh and made.counts == {"made": 5, "number": 10}
  again = finish(stage(tmp_path, log), here)
  assert not again.fresh and (again.key, again.shards) == (made.key, made.shards)
  assert runs(log) == list("01234")


@pytest.mark.parametrize("made", [finish, StageProgress().finish])
def test_notes_that_a_kill_left_beside_a_manifest_go(made, tmp_path, log, here):
  finish(stage(tmp_path, log), here)
  whole = sizes(tmp_path / "toy")
  write_json(tmp_path / "toy/begun.json", stage(tmp_path, log).key)
  (tmp_path / "toy/notes").mkdir()
  write_json(tmp_path / "toy/notes/0.json", {"counts": {}, "files": {}})
  assert not made(stage(tmp_path, log), here).fresh
  assert sizes(tmp_path / "toy") == whole


@pytest.mark.parametrize("how", ["mend", "disk"])
def test_a_fault_leaves_the_finished_shards(how, tmp_path, log, here):
  with pytest.raises((InputError, OSError), match=r"shard 3: wrong|No space left") as raised:
    finish(stage(tmp_path, log, wrong=3, how=how), here)
  assert "\n" not in str(raised.value)
  finish(stage(tmp_path, log), here)
  assert runs(log) == list("0123") + list("34")
  finish(stage(tmp_path / "whole", tmp_path / "other log"), here)
  assert contents(tmp_path / "toy") == contents(tmp_path / "whole/toy")


@pytest.mark.parametrize("kept", [b"", b"1"])
def test_a_shard_that_a_disk_lost_is_named_and_made_again(kept, tmp_path, log, here):
  with pytest.raises(InputError, match="shard 3: wrong"):
    finish(stage(tmp_path, log, text="x", wrong=3), here)
  (tmp_path / "toy" / "1.txt").write_bytes(kept)
  (tmp_path / "toy" / "notes" / "2.json").write_bytes(b"")
  with pytest.warns(UserWarning) as told:
    finish(stage(tmp_path, log, text="x"), here)
  assert [str(warning.message).rpartition("/")[2] for warning in told] == [
    f"1.txt: {len(kept)} bytes; expected 2: shard 1 is made again",
    "2.json: 0 bytes; expected 1: shard 2 is made again",
  ]
  assert runs(log) == list("0123") + list("1234")
  finish(stage(tmp_path / "whole", tmp_path / "other log", text="x"), here)
  assert contents(tmp_path / "toy") == contents(tmp_path / "whole/toy")


def test_an_engine_may_try_again(tmp_path, log, here):
  def engine(make, shards):
    with pytest.raises(InputError, match="shard 3: wrong"):
      here(make, shards)
    here(MakeShard(stage(tmp_path, log)), shards)

  assert finish(stage(tmp_path, log, wrong=3), engine).counts == {"made": 5, "number": 10}


def test_a_change_empties_the_folder(tmp_path, log, here):
  finish(stage(tmp_path, log, shards=6), here)
  finish(stage(tmp_path, log, made_of="b", text="new"), here)
  names = {path.name for path in (tmp_path / "toy").iterdir()}
  assert names == {"0.txt", "1.txt", "2.txt", "3.txt", "4.txt", "manifest.json"}
  assert (tmp_path / "toy/0.txt").read_text() == "new0"


def test_the_old_stage_stays_until_the_new_one_is_done(tmp_path, log, here):
  finish(stage(tmp_path, log), here)
  old = contents(tmp_path / "toy")
  with pytest.raises(InputError, match="shard 3: wrong"):
    finish(stage(tmp_path, log, made_of="b", text="new", wrong=3), here)
  assert contents(tmp_path / "toy") == old
  assert len(runs(log)) == 5 + 4
  finish(stage(tmp_path, log, made_of="b", text="new"), here)
  assert runs(log)[9:] == list("34")
  assert (tmp_path / "toy/0.txt").read_text() == "new0"
  assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["toy"]
  finish(stage(tmp_path / "fresh", log, made_of="b", text="new"), here)
  assert contents(tmp_path / "fresh/toy") == contents(tmp_path / "toy")


def test_an_option_changed_by_mistake_costs_nothing(tmp_path, log, here):
  finish(stage(tmp_path, log), here)
  with pytest.raises(InputError, match="shard 3: wrong"):
    finish(stage(tmp_path, log, made_of="b", wrong=3), here)
  before = runs(log)
  assert not finish(stage(tmp_path, log), here).fresh
  assert runs(log) == before
  assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["toy"]


@pytest.mark.parametrize("old", ["whole", "half", "gone"])
def test_a_kill_while_the_new_stage_takes_its_place(old, tmp_path, log, here):
  finish(stage(tmp_path, log, made_of="b", text="new"), here)
  (tmp_path / "toy").rename(tmp_path / "toy.new")
  if old != "gone":
    finish(stage(tmp_path / "other", log), here)
    (tmp_path / "other/toy").rename(tmp_path / "toy")
    if old == "half":
      (tmp_path / "toy/0.txt").unlink()
  before = runs(log)
  finish(stage(tmp_path, log, made_of="b", text="new"), here)
  assert runs(log) == before
  assert (tmp_path / "toy/0.txt").read_text() == "new0"
  assert not (tmp_path / "toy.new").exists()


def test_a_change_while_it_was_under_way(tmp_path, log, here):
  with pytest.raises(InputError):
    finish(stage(tmp_path, log, wrong=3), here)
  finish(stage(tmp_path, log, made_of="b", text="new"), here)
  assert [(tmp_path / f"toy/{shard}.txt").read_text()[:3] for shard in range(5)] == ["new"] * 5


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_text("")])
def test_a_file_that_is_gone_or_cut_is_made_again(damage, tmp_path, log, here):
  finish(stage(tmp_path, log), here)
  damage(tmp_path / "toy/2.txt")
  assert finished(stage(tmp_path, log)) is None
  finish(stage(tmp_path, log), here)
  assert (tmp_path / "toy/2.txt").read_text() == "2"


def test_notes_that_are_deleted_while_they_are_listed_are_none(tmp_path, monkeypatch):
  (tmp_path / "notes").mkdir()
  (tmp_path / "notes" / "00000.json").write_text("{}")
  assert list(shard_notes(files.Path(tmp_path))) == [0]
  scan = os.scandir

  def gone(path):
    if (tmp_path / "notes").exists():
      (tmp_path / "notes").rename(tmp_path / "gone")
    return scan(path)

  monkeypatch.setattr(os, "scandir", gone)
  assert shard_notes(files.Path(tmp_path)) == {}


def test_somebody_elses_folder_is_left_alone(tmp_path, log, here):
  (tmp_path / "toy").mkdir()
  (tmp_path / "toy/thesis.txt").write_text("mine")
  with pytest.raises(InputError, match="not a folder of this command; expected it empty"):
    finish(stage(tmp_path, log), here)
  assert (tmp_path / "toy/thesis.txt").read_text() == "mine"


def test_leftovers_of_a_killed_writer_go(tmp_path, log, here):
  with pytest.raises(InputError):
    finish(stage(tmp_path, log, wrong=3), here)
  (tmp_path / "toy/3.ab12.part.txt").write_text("half")
  finish(stage(tmp_path, log), here)
  assert not list((tmp_path / "toy").glob("*.part*"))


@pytest.mark.parametrize("workers", [2, pytest.param(7, marks=pytest.mark.slow)])
def test_workers_make_the_same(workers, tmp_path, log, here):
  with local(workers) as engine:
    finish(stage(tmp_path, log), engine)
  finish(stage(tmp_path / "here", tmp_path / "other log"), here)
  assert contents(tmp_path / "toy") == contents(tmp_path / "here/toy")
  assert sorted(runs(log)) == list("01234")


def test_a_worker_that_dies_is_one_line(tmp_path, log):
  line = r"a worker process died.*finished shards are kept"
  with pytest.raises(InputError, match=line) as fault, local(2) as engine:
    finish(stage(tmp_path, log, wrong=3, how="kill"), engine)
  assert "\n" not in str(fault.value)
  with local(2) as engine:
    finish(stage(tmp_path, log), engine)
  assert len(runs(log)) <= 5 + 3


def test_a_fault_in_a_worker_is_the_same_line(tmp_path, log):
  with pytest.raises(InputError, match=r"^shard 3: wrong; expected right$"), local(2) as engine:
    finish(stage(tmp_path, log, wrong=3), engine)


BUILD = """
import sys
from pathlib import Path
from toy_stages import NotePid
from luke_jax.wiki.stages.engines import local
from luke_jax.wiki.stages.stage import Stage, finish
if __name__ == "__main__":
  folder = Path(sys.argv[1])
  with local(2) as engine:
    finish(Stage(folder / "toy", 2, NotePid(folder), {}), engine)
"""


def test_workers_die_with_their_parent(tmp_path):
  script = tmp_path / "build.py"
  script.write_text(BUILD)
  tests = str(Path(__file__).resolve().parents[2])
  environment = os.environ | {"PYTHONPATH": os.pathsep.join([tests, *sys.path])}
  parent = subprocess.Popen([sys.executable, str(script), str(tmp_path)], env=environment)
  _wait_for(lambda: len([x for x in tmp_path.glob("*.pid") if x.read_text()]) == 2)
  parent.kill()
  parent.wait()
  pids = [int(path.read_text()) for path in tmp_path.glob("*.pid")]
  _wait_for(lambda: not any(map(_alive, pids)))


def _alive(pid):
  try:
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
  except (FileNotFoundError, ProcessLookupError):
    return False


def _wait_for(condition, seconds=30):
  stop = time.monotonic() + seconds
  while not condition():
    assert time.monotonic() < stop
    time.sleep(0.02)


@pytest.mark.parametrize("workers", [0, -1, True, 1.5])
def test_a_number_of_workers_that_is_none(workers):
  with (
    pytest.raises(InputError, match=r"--workers: .*; expected a whole number from 1"),
    local(workers),
  ):
    pass


def test_beam_that_is_not_installed_is_one_line(monkeypatch):
  monkeypatch.setitem(sys.modules, "apache_beam", None)
  with pytest.raises(InputError, match=r"expected it for --engine beam: .*\[beam\]"), beam([]):
    pass


@pytest.mark.slow
def test_beam_makes_the_same_and_tells_faults(tmp_path, log, here):
  pytest.importorskip("apache_beam", reason="needs the extra `beam`")
  with beam([]) as engine:
    with pytest.raises(InputError, match=r"^shard 3: wrong; expected right$"):
      finish(stage(tmp_path, log, wrong=3), engine)
    finish(stage(tmp_path, log), engine)
  finish(stage(tmp_path / "here", tmp_path / "other log"), here)
  assert contents(tmp_path / "toy") == contents(tmp_path / "here/toy")
