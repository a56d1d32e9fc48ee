import subprocess
import sys

import pytest

from luke_jax.errors import InputError
from luke_jax.show import Section, code, entities, relations, report, table

HOSTILE = "<script>alert('&')</script>"


def test_a_report_holds_its_sections(read):
  picture = entities("Ana lives.", [(0, 3, "person")])
  numbers = table(["task", "score"], [[HOSTILE, 0.51234], ["ner", 7]])
  assert "<p>alone</p>" in report("A", [Section("B", "alone")]).html
  page = report(HOSTILE, [Section(HOSTILE, [HOSTILE, picture]), Section("Two", numbers)], "Hi.")
  told = read(page.page)
  assert told.text.count(HOSTILE) == 5  # heading, link, section, paragraph, cell
  for expected in ("Hi.", "Ana", "0.5123", "ner", "7"):
    assert expected in told.text
  links = [tag["href"] for tag in told.named("a")]
  assert links == ["#part-0", "#part-1"]
  assert {"part-0", "part-1"} == {tag["id"] for tag in told.named("section")}
  assert page.html.count("<style>") == 1


def test_a_folded_section_is_opened_by_its_title(read):
  page = report("Runs", [Section("Log", "long", folded=True)])
  assert '<details id="part-0"><summary><h2>Log</h2></summary><p>long</p></details>' in page.body


def test_an_empty_report_and_table_are_pages(read):
  assert "Nothing" in read(report("Nothing", []).page).text
  assert "task" in read(table(["task"], []).html).text


def test_numbers_of_a_column_have_as_many_decimals(read):
  told = read(table(["a", "b", "c"], [[0.5, 1e-6, 1], [0.25, 0.5, 0.125]]).html)
  assert told.text.strip() == "abc" + "0.50" + "1e-06" + "1" + "0.25" + "0.5" + "0.125"


def test_code_is_shown_as_it_is_typed(read):
  assert "make demo\n  <x>" in read(code("make demo\n  <x>").html).text


def test_a_notebook_shows_what_is_saved(tmp_path):
  picture = relations("Ana met Bo.", [((0, 3), (8, 10), "met")])
  file = tmp_path / "new" / "picture.html"
  picture.save(file)
  saved = file.read_text(encoding="utf-8")
  assert picture._repr_html_() in saved and saved.startswith("<!doctype html>")
  assert [path.name for path in file.parent.iterdir()] == ["picture.html"]


def test_a_folder_is_no_file(tmp_path):
  with pytest.raises(InputError, match="a folder; expected the name of a file"):
    entities("Ana", []).save(tmp_path)


def test_pictures_are_there_without_jax():
  code = "import sys, luke_jax.show as s; s.entities('Ana', []); sys.exit('jax' in sys.modules)"
  assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
