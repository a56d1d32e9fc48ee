"""Files of examples that are no text in UTF-8 are refused by name, with the way to one."""

import bz2
import gzip
import io
import lzma
import zipfile

import pytest

from luke_jax.errors import InputError
from luke_jax.formats import files
from luke_jax.tasks.classification.files import read as read_texts
from luke_jax.tasks.ner.files import read as read_names

LINE = '{"text": "Ana lives."}\n'
ICONV = "expected UTF-8, which `iconv -f {} -t UTF-8"


def spreadsheet():
  packed = io.BytesIO()
  with zipfile.ZipFile(packed, "w") as archive:
    archive.writestr("xl/workbook.xml", "<workbook/>")
  return packed.getvalue()


FAULTS = {
  "xlsx": (spreadsheet(), "a zip archive, as Excel's spreadsheets are; expected a text file"),
  "xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a spreadsheet; expected a text file in UTF-8"),
  "UTF-16": (LINE.encode("utf-16"), f"in UTF-16; {ICONV.format('UTF-16')}"),
  "UTF-16LE": (LINE.encode("utf-16-le"), f"in UTF-16; {ICONV.format('UTF-16LE')}"),
  "UTF-16BE": (LINE.encode("utf-16-be"), f"in UTF-16; {ICONV.format('UTF-16BE')}"),
  "latin-1": (
    f"{LINE}{LINE}Renée".encode("latin-1"),
    f"line 3: byte 0xe9 is not UTF-8; {ICONV.format('WINDOWS-1252')}",
  ),
  "UTF-32": (LINE.encode("utf-32"), f"in UTF-32; {ICONV.format('UTF-32')}"),
  "gzip": (gzip.compress(LINE.encode()), "compressed; expected a text file, which `zcat <"),
  "bzip2": (bz2.compress(LINE.encode()), "compressed; expected a text file, which `bzcat <"),
  "xz": (lzma.compress(LINE.encode()), "compressed; expected a text file, which `xzcat <"),
  "PDF": (b"%PDF-1.4\n%\xe2\xe3", "a PDF; expected a text file, which `pdftotext"),
  "zeros": (bytes(100), "begins with zeros; expected a text file"),
  "Parquet": (b"PAR1\x15\x04", "a table of Parquet; expected lines of JSON"),
}


@pytest.mark.parametrize(
  ("read", "ending"),
  [(read_names, "jsonl"), (read_names, "conll"), (read_texts, "csv"), (read_texts, "xlsx")],
)
@pytest.mark.parametrize("kind", FAULTS)
def test_what_is_no_utf_8(kind, read, ending, tmp_path):
  content, message = FAULTS[kind]
  path = tmp_path / f"a file.{ending}"  # of a name that shells need in quotes
  path.write_bytes(content)
  with pytest.raises(InputError) as refused:
    read(path, files.Faults())
  assert message in str(refused.value)
  assert str(refused.value).startswith(str(path)) and "\n" not in str(refused.value)
  assert ("`" in message) == (f" '{path}'" in str(refused.value))


@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("before", [0, 3, 5000])
def test_the_line_of_a_byte_that_is_no_utf_8(before, ends, tmp_path):
  path = tmp_path / "a.txt"
  path.write_bytes(b"\xef\xbb\xbf" + (b"a line" + ends) * before + b"\xff" + ends + b"more")
  with pytest.raises(InputError, match=f"line {before + 1}: byte 0xff is not UTF-8"):
    list(files.lines(path))


def test_a_text_with_the_mark_that_excel_writes(tmp_path):
  path = tmp_path / "a.csv"
  path.write_text("text,label\nRenée,a\n", encoding="utf-8-sig")
  assert [x.text for x in read_texts(path, files.Faults())] == ["Renée"]


@pytest.mark.parametrize(
  ("value", "message"),
  [
    ({"sentence": "Ana"}, "sentence: no such field; expected text$"),
    ({"words": ["Ana"]}, "words: no such field; expected tokens$"),
    ({"text": "Ana", "sentence": "Ana"}, "sentence: no such field; expected one of id, text"),
    ({"txt": "Ana"}, "txt: no such field; expected perhaps text$"),
  ],
)
def test_other_names_of_a_text(value, message):
  with pytest.raises(InputError, match=message):
    files.check_fields(value, ("span",), "line 1")
