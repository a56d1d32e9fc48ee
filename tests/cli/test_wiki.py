"""`luke-jax wiki build` and `luke-jax wiki show` as a user runs them."""

import errno
import html.parser
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from luke_jax.cli import main
from luke_jax.errors import InputError
from luke_jax.pipeline.stored import StoredRecords
from luke_jax.wiki import files

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


def test_records_as_text_and_as_html(arguments, tmp_path, capsys):
  assert main(arguments) == 0
  capsys.readouterr()
  page = tmp_path / "records.html"
  assert main(["wiki", "show", str(tmp_path / "out"), "--n", "2", "--html", str(page)]) == 0
  shown = capsys.readouterr().out
  assert "The river [Old River] runs from Lisbon to the sea & back." in shown
  assert "the Nameless hill that it" in shown
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
    (["--entities", "6"], "--entities 6: the dump has too few linked pages for so many; expected"),
    (["--tokenizer", "gone"], "gone: no tokenizer; expected"),
    (["--allowed", "gone.txt"], "gone.txt: no such file"),
    (["--allowed-only"], "--allowed-only: no --allowed titles; expected a file of them"),
    (["--engine", "spark"], "--engine: 'spark'; expected one of"),
    (["--beam-options=--runner=x"], "--beam-options: without --engine beam; expected both"),
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
  assert files._as_system_error(fault, Path("x")).errno == errno.ENOSPC


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
