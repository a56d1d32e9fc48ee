"""`luke-jax linker`: from a server's dump to a linker in one command."""

import bz2
import json
import re
import shutil
from pathlib import Path

import pytest
from mirror import served, write_mirror

from luke_jax.cli import linker, main
from luke_jax.cli.linker import DumpFile
from luke_jax.files import Path as FilesPath
from luke_jax.files import fetch as fetching
from luke_jax.files.locks import locked
from luke_jax.tasks.linking.files import OwnEntity, read_own

DATA = Path(__file__).parents[2] / "data"
WIKI = DATA / "sample_wiki"
MODEL = str(DATA / "sample_model")
NAME = re.compile(r"<title>(.*?)</title>\s*<ns>0</ns>\s*<id>(\d+)</id>")


@pytest.fixture
def mirror(tmp_path, monkeypatch):
  """A server's folder with the sample wiki and the items of its pages."""
  monkeypatch.setattr(fetching, "PAUSE", 0.0)
  pages = (WIKI / "samplewiki-pages-articles-multistream.xml.bz2").read_bytes()
  ids = {title: int(id) for title, id in NAME.findall(bz2.decompress(pages).decode())}
  items = {}
  wikidata = bz2.decompress((WIKI / "wikidata-sample.json.bz2").read_bytes()).decode()
  for line in wikidata.splitlines():
    entity = json.loads(line.strip().rstrip(",")) if line.startswith("{") else {}
    title = entity.get("sitelinks", {}).get("samplewiki", {}).get("title")
    if title in ids:
      items[ids[title]] = entity["id"]
  write_mirror(tmp_path / "server", "samplewiki", pages, items)
  return tmp_path / "server"


@pytest.mark.slow
def test_one_command_makes_a_linker_that_moves(mirror, tmp_path, capsys):
  command = ["linker", "samplewiki", "--output", str(tmp_path / "mine"), "--model", MODEL]
  command += ["--workers", "1", "--examples", "60"]
  with served(mirror, [503, 20_000]) as (address, _):
    assert main([*command, "--from", address]) == 0
  told = capsys.readouterr()
  summary = json.loads(told.out.splitlines()[-1])
  assert 0 < summary["dev/accuracy"] <= 1 and "MB to fetch" in told.err
  moved = shutil.move(tmp_path / "mine", tmp_path / "moved")
  shutil.rmtree(tmp_path / "mine.making")
  assert (
    main(["link", str(moved), "Castrel's harbour was built by Orsa.", "--threshold", "0.01"]) == 0
  )
  links = json.loads(capsys.readouterr().out)["links"]
  assert any(link[3] and link[3].startswith("Q") for link in links)


def test_the_steps_follow_each_other(tmp_path):
  files = DumpFile("pages", "", 1, ""), DumpFile("items", "", 1, "")
  planned = linker.steps(tmp_path, files, DATA / "sample_model", 3, 50)
  names = [step.name for step in planned]
  assert [step.needs for step in planned] == [(), *((x,) for x in names[:-1])]
  assert [" ".join(step.arguments[:2]) for step in planned] == [
    *("wiki build", "wiki export", "entities describe", "train linking")
  ]
  read = {x for step in planned for x in step.arguments if x.startswith(str(tmp_path))}
  made = {step.arguments[step.arguments.index("--output") + 1] for step in planned}
  assert {str(Path(x).relative_to(tmp_path)).split("/")[0] for x in read} == {
    *("pages", "items", "build", "tables", "knowledge", "run")
  }
  assert made == {str(tmp_path / x) for x in ("build", "tables", "knowledge", "run")}


def test_a_dump_that_was_begun_goes_on_though_there_is_a_newer_one(mirror, tmp_path, capsys):
  with served(mirror) as (address, asked):
    first = linker.begun(tmp_path / "making", "samplewiki", address)
    before = len(asked)
    assert linker.begun(tmp_path / "making", "samplewiki", address) == first
    assert len(asked) == before
    with locked(tmp_path / "x.making"):
      assert main(["linker", "samplewiki", "--output", str(tmp_path / "x"), "--from", address]) == 2
    assert "x.making" in capsys.readouterr().err
  assert first[0].size == (WIKI / "samplewiki-pages-articles-multistream.xml.bz2").stat().st_size


@pytest.mark.parametrize(
  ("wiki", "fault"),
  [
    ("../etc", "../etc: no wiki; expected the name of one, as simplewiki"),
    ("Simple English", "Simple English: no wiki"),
    ("otherwiki", "otherwiki-latest-sha1sums.txt: 404 Not Found"),
  ],
)
def test_what_is_no_wiki(wiki, fault, mirror, tmp_path, capsys):
  with served(mirror) as (address, _):
    assert main(["linker", wiki, "--output", str(tmp_path / "x"), "--from", address]) == 2
  said = capsys.readouterr().err
  assert fault in said and said.count("\n") == 1
  assert not list(tmp_path.glob("x*"))


def test_a_dump_that_is_being_made_and_a_full_disk(mirror, tmp_path, capsys, monkeypatch):
  command = ["linker", "samplewiki", "--output", str(tmp_path / "x"), "--from"]
  sums = mirror / "samplewiki/latest/samplewiki-latest-sha1sums.txt"
  whole = sums.read_text()
  sums.write_text(whole.splitlines()[0] + "\n")
  with served(mirror) as (address, _):
    assert main([*command, address]) == 2
    assert "no page_props.sql.gz; expected the list of a whole dump" in capsys.readouterr().err
    sums.write_text(whole)
    usage = type(shutil.disk_usage("/"))(10, 10, 0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert main([*command, address]) == 2
  assert "0.0 GB are free; expected 0.0 GB of room" in capsys.readouterr().err
  assert main(["linker", "samplewiki", "--output", str(tmp_path)]) == 2
  assert "exists; expected a new folder" in capsys.readouterr().err


@pytest.mark.parametrize(
  ("given", "lines", "fault"),
  [
    ([], None, "WIKI: none; expected the name of a wiki, as simplewiki, or --entities FILE\n"),
    (["samplewiki"], [{"name": "Nordvik"}], "or --entities FILE, not both\n"),
    ([], [], "mine.jsonl: no entities; expected one on each line\n"),
    ([], [{"description": "a firm"}], "mine.jsonl: line 1: name: missing"),
    ([], [{"name": "Nordvik"}] * 2, "mine.jsonl: 'Nordvik': twice; expected each id"),
    (
      [],
      [{"name": "Nordvik", "weight": 0}],
      "line 1: weight: 0; expected a number from 1e-12 to 1e+12\n",
    ),
    ([], [{"name": "Nordvik", "weight": float("nan")}], "line 1: weight: nan; expected a number"),
    (["--workers", "2"], [{"name": "Nordvik"}], "of a wiki; expected none with --entities\n"),
    ([], [{"name": "Nordvik"}], "sample_model: not such a linker; expected adapters over"),
  ],
)
def test_what_is_no_catalogue(given, lines, fault, tmp_path, capsys):
  command = ["linker", *given, "--output", str(tmp_path / "x"), "--model", MODEL]
  if lines is not None:
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    command += ["--entities", str(tmp_path / "mine.jsonl")]
  assert main(command) == 2
  said = capsys.readouterr().err
  assert fault in said and said.count("\n") == 1
  assert not list(tmp_path.glob("*x*"))


def test_a_catalogue_may_be_a_spreadsheet(tmp_path):
  rows = "id,name,description,aliases,weight\nC-1,Nordvik,a firm,Nordvik  AS; NV,20\n"
  rows += "C-2,Nordvik,,,\n"
  (tmp_path / "mine.csv").write_text(rows)
  assert read_own(FilesPath(tmp_path / "mine.csv")) == [
    OwnEntity("Nordvik", "a firm", ("Nordvik AS", "NV"), "C-1", weight=20.0),
    OwnEntity("Nordvik", id="C-2"),
  ]


@pytest.mark.slow
def test_a_catalogue_is_linked_without_training(minilm, tmp_path, capsys):
  """Its entities are told apart by what they are, and what is none of them is left out."""
  mine = [
    {"name": "Nordvik", "description": "a firm that ships bearings", "id": "C-1"},
    {"name": "Nordvik", "description": "a village and fishing harbour in the north", "id": "C-2"},
    {"name": "Ana Ferrier", "description": "a painter of landscapes", "aliases": ["Ferrier"]},
  ]
  (tmp_path / "mine.jsonl").write_text("".join(json.dumps(x) + "\n" for x in mine))
  made = str(tmp_path / "mine")
  assert main(["linker", "--entities", str(tmp_path / "mine.jsonl"), "--output", made]) == 0
  assert json.loads(capsys.readouterr().out.splitlines()[-1])["entities"] == 3
  shutil.move(made, tmp_path / "moved")
  texts = {
    "Shares of Nordvik fell after the company shipped fewer bearings than expected.": "C-1",
    "The boats came back to Nordvik, a village where two hundred people live from cod.": "C-2",
  }
  for text, id in texts.items():
    assert main(["link", str(tmp_path / "moved"), text, "--threshold", "0"]) == 0
    ((start, end, title, item, *_),) = json.loads(capsys.readouterr().out)["links"]
    assert (text[start:end], title, item) == ("Nordvik", "Nordvik", id)
