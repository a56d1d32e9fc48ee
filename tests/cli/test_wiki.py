"""`luke-jax wiki build` and `luke-jax wiki show` as a user runs them."""

import errno
import html.parser
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from small_wikis import TOKENIZER, build_wiki, write_wikidata

from luke_jax.cli import main
from luke_jax.errors import InputError
from luke_jax.pipeline.stored import StoredRecords
from luke_jax.wiki.stages import stored

GOLDENS = Path(__file__).resolve().parents[1] / "goldens/text"

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
<siteinfo><dbname>enwiki</dbname><case>first-letter</case><namespaces>
<namespace key="0" case="first-letter" /></namespaces></siteinfo>
"""
PAGE = """<page><title>{0}</title><ns>0</ns><id>{1}</id><revision><id>{1}</id>
<text xml:space="preserve">{2}</text></revision></page>
"""
RIVER = "The [[Old River|river]] runs from [[Lisbon]] to &lt;i&gt;the sea&lt;/i&gt; &amp;amp; back."
PAGES = {
  "Lisbon": "A town near the [[old River]]. " * 30,
  "Old River": f"{RIVER} Nobody knows the [[Nameless hill]] that it comes from.",
  "Stream": "#REDIRECT [[Old River]]",
}


@pytest.fixture
def dump(tmp_path):
  pages = (PAGE.format(title, id, text) for id, (title, text) in enumerate(PAGES.items(), 1))
  path = tmp_path / "tiny.xml"
  path.write_text(HEAD + "".join(pages) + "</mediawiki>\n", encoding="utf-8")
  return path


@pytest.fixture
def arguments(dump, tmp_path):
  options = ["--tokenizer", GOLDENS / "byte_level", "--output", tmp_path / "out", "--entities", 5]
  return ["wiki", "build", *map(str, [dump, *options])]


def test_from_a_dump_to_records(arguments, tmp_path, capsys):
  assert main([*arguments, "--language", "en"]) == 0
  out = capsys.readouterr().out
  summary = json.loads(out.splitlines()[-1])
  assert (summary["pages"], summary["redirects"], summary["records"]) == (2, 1, 2)
  assert summary["links"] == 33 and summary["links_to_no_page"] == 1
  for line in ("links in vocabulary", "fill", "records"):
    assert line in out
  records = StoredRecords(summary["folder"])
  assert sorted(record.page_id for record in records) == [3, 4]
  assert main([*arguments, "--language", "en"]) == 0
  captured = capsys.readouterr()
  assert json.loads(captured.out.splitlines()[-1]) == summary
  assert captured.err.count("done before") == 6


def test_until_a_stage_and_on(arguments, tmp_path, capsys):
  more = ["--entities", "1000"]  # more than there are, which the counts do not ask
  assert main([*arguments, *more, "--until", "counts"]) == 0
  printed = capsys.readouterr().out
  counts = {"folder": str(tmp_path / "out/counts"), "links": 33, "links_to_no_page": 1}
  assert json.loads(printed) == counts
  stages = {path.name for path in (tmp_path / "out").iterdir() if path.is_dir()}
  assert stages == {"pages", "titles", "counts"}
  assert main(arguments) == 0
  assert capsys.readouterr().err.count("done before") == 3


def test_languages_are_joined_by_their_counts_alone(tmp_path, capsys):
  items = {f"Q{i}": {"enwiki": f"Page {i}", "dewiki": f"Seite {i}"} for i in range(4)}
  wikidata, result = write_wikidata(tmp_path / "all.json", items), tmp_path / "entities.jsonl"
  folders = []
  for language, name in (("en", "Page"), ("de", "Seite")):
    text = "".join(f"This is {i} of [[{name} {i}]] in it. " for i in range(4))
    pages = {f"{name} {i}": text for i in range(4)}
    dump = build_wiki(tmp_path / language, pages, language).with_suffix(".xml")
    folders.append(str(tmp_path / f"counts-{language}"))
    options = ["--tokenizer", str(TOKENIZER), "--output", folders[-1]]
    build = ["wiki", "build", str(dump), *options]
    assert main([*build, "--until", "counts"]) == 0
  join = ["wiki", "join", str(wikidata), *folders, "--output", str(result)]
  assert main([*join, "--min-languages", "2", "--entities", "7"]) == 0
  capsys.readouterr()
  assert main([*build, "--vocabulary", str(result)]) == 0
  summary = json.loads(capsys.readouterr().out.splitlines()[-1])
  assert (summary["entities_in_vocabulary"], summary["links_in_vocabulary"]) == (7, 1.0)


def test_a_folder_of_another_wiki_keeps_what_it_has(dump, arguments, tmp_path, capsys):
  assert main(arguments) == 0
  before = sorted((path, path.stat().st_mtime_ns) for path in (tmp_path / "out").rglob("*"))
  dump.write_text(dump.read_text().replace("enwiki", "nlwiki"))
  assert main(arguments) == 2
  error = capsys.readouterr().err.splitlines()[-1]
  assert error.endswith("out: a build of enwiki; expected a folder of nlwiki's own")
  assert sorted((x, x.stat().st_mtime_ns) for x in (tmp_path / "out").rglob("*")) == before


def test_a_file_that_is_given_twice(dump, arguments, tmp_path, capsys):
  copy = tmp_path / "copy.xml"
  copy.write_bytes(dump.read_bytes())
  assert main([*arguments[:3], str(copy), *arguments[3:]]) == 2
  error = capsys.readouterr().err.splitlines()[-1]
  assert error == f"luke-jax: {copy}: the same as {dump}; expected every file once"


def test_a_page_that_cannot_be_written_is_told_first(arguments, tmp_path, capsys):
  assert main(arguments) == 0
  capsys.readouterr()
  page = tmp_path / "gone" / "records.html"
  assert main(["wiki", "show", str(tmp_path / "out"), "--html", str(page)]) == 2
  assert capsys.readouterr().out == ""


def test_records_as_text_and_as_html(arguments, tmp_path, capsys):
  assert main(arguments) == 0
  capsys.readouterr()
  page = tmp_path / "records.html"
  assert main(["wiki", "show", str(tmp_path / "out"), "--n", "2", "--html", str(page)]) == 0
  shown = capsys.readouterr().out
  assert "The river [Old River] runs from Lisbon to the sea & back." in shown
  assert "the Nameless hill that it" in shown
  assert shown.endswith(f"\n{page}: 2 records\n")
  content = page.read_text(encoding="utf-8")
  assert '<mark title="Old River">river <small>Old River</small></mark>' in content
  assert '<mark class="unknown" title="[UNK]">Nameless hill</mark>' in content
  assert "the sea &amp; back" in content
  assert not re.search(r"(src|href)=|@import|<script", content)
  _Balanced().feed(content)


def test_markup_in_a_record_stays_text(dump, arguments, tmp_path):
  text = dump.read_text().replace("Nobody", "&lt;nowiki&gt;&lt;script&gt;&lt;/nowiki&gt; Nobody")
  dump.write_text(text)
  page = tmp_path / "records.html"
  assert main(arguments) == 0
  assert main(["wiki", "show", str(tmp_path / "out/pretraining"), "--html", str(page)]) == 0
  assert "<script" not in page.read_text() and "&lt;script" in page.read_text()


@pytest.mark.parametrize(
  ("more", "line"),
  [
    (["--workers", "0"], "--workers: 0; expected a whole number from 1"),
    (["--language", "nl"], "a dump of enwiki in 'en'; expected --language en, not nl"),
    (["--tokenizer", "gone"], "gone: no tokenizer; expected"),
    (["--allowed", "gone.txt"], "gone.txt: no such file"),
    (["--allowed-only"], "--allowed-only: no --allowed titles; expected a file of them"),
    (["--engine", "spark"], "--engine: 'spark'; expected one of"),
    (["--beam-options=--runner=x"], "--beam-options: without --engine beam; expected both"),
    (["--engine", "beam", "--beam-options='"], "--beam-options: No closing quotation; expected"),
    (["--min-count", "-1"], "--min-count: -1; expected a whole number from 0"),
    (["--max-words", "1000001"], "--max-words: 1000001; expected a whole number from 7 to 1000000"),
    (["--vocabulary", "some.jsonl"], "--vocabulary: given with --entities, --min-count,"),
    (["--until", "never"], "--until: 'never'; expected one of"),
    (["--output", "/proc/nowhere"], "/proc/nowhere"),
  ],
)
def test_bad_input_is_one_line(more, line, arguments, capsys, monkeypatch, tmp_path):
  monkeypatch.chdir(tmp_path)
  assert main([*arguments, *more]) == 2
  (error,) = [x for x in capsys.readouterr().err.splitlines() if x.startswith("luke-jax: ")]
  assert line in error


def test_a_dump_that_is_gone_or_none(arguments, tmp_path, capsys):
  (tmp_path / "tiny.xml").write_text("<html></html>")
  assert main(arguments) == 2
  (tmp_path / "tiny.xml").unlink()
  assert main(arguments) == 2
  first, second = capsys.readouterr().err.splitlines()
  assert "tiny.xml" in first and "tiny.xml: no such file; expected a dump" in second
  assert not (tmp_path / "out").exists()


def test_a_folder_without_records(tmp_path, capsys):
  assert main(["wiki", "show", str(tmp_path)]) == 2
  assert "no metadata.json; expected a folder of records" in capsys.readouterr().err
  assert main(["wiki", "show", str(tmp_path), "--n", "0"]) == 2


def test_a_vocabulary_of_no_language(tmp_path, capsys):
  wikidata, output = write_wikidata(tmp_path / "all.json", {}), str(tmp_path / "entities.jsonl")
  assert main(["wiki", "join", str(wikidata), "--output", output]) == 2
  assert capsys.readouterr().err == (
    "luke-jax: OUT: missing; expected folders of luke-jax wiki build, one a language\n"
  )


@pytest.fixture(scope="module")
def names(tmp_path_factory):
  folder = build_wiki(tmp_path_factory.mktemp("names") / "wiki", PAGES)
  assert main(["wiki", "mentions", str(folder), "--workers", "2"]) == 0
  return str(folder)


@pytest.mark.parametrize(
  "given", ["gone.txt", "my gone.json", "gone.jsonl", "a/b", "/gone", "../gone.md"]
)
def test_a_file_that_is_not_there_is_no_text(given, names, capsys):
  assert main(["wiki", "annotate", names, given]) == 2
  error = f"luke-jax: {given}: no such file; expected a text or the name of a file\n"
  assert capsys.readouterr().err == error


@pytest.mark.parametrize("given", ["", "river", "The river.", "The river or / sea", "a\nriver.txt"])
def test_a_text_is_no_file(given, names, capsys):
  options = ["--min-link-probability", "0"]
  assert main(["wiki", "annotate", names, given, *options]) == 0
  assert capsys.readouterr().out.count("Old River") == given.count("river")


@pytest.mark.parametrize(
  ("data", "status", "said"),
  [
    (b"", 0, ""),
    (b"no\nriver\n", 0, '"start": 3, "end": 8, "text": "river"'),
    (b"no\n\xff", 2, "luke-jax: /dev/stdin: line 2 is not UTF-8; expected a text file\n"),
  ],
)
def test_a_text_through_a_pipe(data, status, said, names):
  command = [sys.executable, "-m", "luke_jax", "wiki", "annotate", names, "/dev/stdin"]
  done = subprocess.run(command, input=data, capture_output=True, check=False)
  assert done.returncode == status
  assert said in (done.stdout + done.stderr).decode()


def test_the_last_lines_name_the_files(names, tmp_path, capsys):
  rows, page = (str(tmp_path / name) for name in ("rows.jsonl", "page.html"))
  text = "Old River and Old River"
  assert main(["wiki", "annotate", names, text, "--output", rows, "--html", page]) == 0
  number = len((tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines())
  assert capsys.readouterr().out == f"{rows}: {number} names\n{page}: {number} names\n"


def test_rows_and_page_have_a_file_each(names, tmp_path, capsys):
  file = str(tmp_path / "file")
  assert main(["wiki", "annotate", names, "river", "--output", file, "--html", file]) == 2
  assert "the file of --output too; expected another" in capsys.readouterr().err
  assert not list(tmp_path.iterdir())


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
from luke_jax.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_disk_that_takes_no_more_is_one_line(arguments, dump, tmp_path):
  lines = "".join(PAGE.format(f"Page {i}", i, f"{RIVER} {i * 977} " * 20) for i in range(10, 400))
  dump.write_text(dump.read_text().replace("</mediawiki>", f"{lines}</mediawiki>"))
  command = [sys.executable, "-c", LIMITED, *arguments]
  done = subprocess.run(command, capture_output=True, text=True, check=False)
  assert done.returncode == 2
  assert "File too large" in done.stderr.splitlines()[-1]
  assert "Traceback" not in done.stderr
  assert not list((tmp_path / "out").rglob("*.part*"))
  assert main(arguments) == 0


def test_a_full_disk_is_told_as_one():
  fault = RuntimeError("write() failed: No space left on device; writing x; at byte 307200")
  assert stored._as_system_error(fault, Path("x")).errno == errno.ENOSPC


class _Balanced(html.parser.HTMLParser):
  """Refuses end tags that end something else."""

  def __init__(self):
    super().__init__()
    self.open = []

  def handle_starttag(self, tag, attributes):
    if tag != "meta":
      self.open.append(tag)

  def handle_endtag(self, tag):
    if self.open.pop() != tag:
      raise InputError(f"</{tag}>: not open; expected balanced tags")
