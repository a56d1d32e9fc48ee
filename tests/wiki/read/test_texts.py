"""Texts without markup: every form and any cut of a file gives the same documents."""

import bz2
import gzip
import json
import pathlib
import tempfile
import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.errors import InputError
from luke_jax.wiki.read.markup import Paragraph
from luke_jax.wiki.read.pages import page_from_bytes, page_to_bytes
from luke_jax.wiki.read.texts import (
  Document,
  TextPart,
  form_of,
  page_from_document,
  read_documents,
  split_texts,
)

DOCUMENTS = [
  Document(7, "Ana & Lee", "Ana & Lee\n\nAna is <a> moth.\nLife.\nIt flies."),
  Document(8, "東京", "東京は町。"),
  Document(9, "Empty", ""),
]


def tagged(documents):
  parts = []
  for id, title, text, _ in documents:
    safe, body = (x.replace("&", "&amp;").replace("<", "&lt;") for x in (title, text))
    parts.append(f'<doc id="{id}" url="https://a" title="{safe}">\n{body}\n</doc>\n')
  return "".join(parts)


def as_json(documents):
  return "".join(json.dumps({**x._asdict(), "id": str(x.id)}) + "\n" for x in documents)


def read_all(path, size):
  return [document for part in split_texts([path], size) for document in read_documents(part)]


@pytest.mark.parametrize("size", [1, 30, 10**6])
@pytest.mark.parametrize("form", [tagged, as_json])
def test_every_form(form, size, tmp_path):
  path = tmp_path / "texts"
  path.write_text(form(DOCUMENTS), encoding="utf-8")
  assert read_all(path, size) == DOCUMENTS


@pytest.mark.parametrize("form", [tagged, as_json])
def test_compressed(form, tmp_path):
  data = form(DOCUMENTS).encode()
  path = tmp_path / "texts.gz"
  path.write_bytes(gzip.compress(data))
  assert read_all(path, 10) == DOCUMENTS
  path = tmp_path / "texts.bz2"
  path.write_bytes(b"".join(bz2.compress(data[at : at + 40]) for at in range(0, len(data), 40)))
  assert len(split_texts([path], 50)) > 3
  assert read_all(path, 50) == DOCUMENTS


def test_a_folder(tmp_path):
  (tmp_path / "more").mkdir()
  (tmp_path / "Ana_Lee.txt").write_text("\ufeffAna Lee\r\nA moth.", encoding="utf-8")
  (tmp_path / "more/AC%2FDC.txt").write_text("A band.")
  (tmp_path / "notes.md").write_text("No text.")
  assert form_of(tmp_path) == "folder"
  expected = [Document(None, "Ana Lee", "Ana Lee\nA moth."), Document(None, "AC/DC", "A band.")]
  assert read_all(tmp_path, 1) == read_all(tmp_path, 100) == expected


@pytest.mark.parametrize("size", [1, 10**6])
def test_parquet(size, tmp_path):
  pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
  path = tmp_path / "train-00000-of-00001.parquet"
  rows = [
    {"id": str(x.id), "url": "https://a", **x._asdict()} | {"id": str(x.id)} for x in DOCUMENTS
  ]
  parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=2)
  assert len(split_texts([path], size)) == (2 if size == 1 else 1)
  assert read_all(path, size) == DOCUMENTS
  parquet.write_table(pyarrow.Table.from_pylist([{"title": "a", "body": ""}]), path)
  with pytest.raises(InputError, match="columns title, body; expected title and text"):
    read_all(path, size)
  path.write_bytes(path.read_bytes()[:-9])
  with pytest.raises(InputError, match="expected documents in <doc"):
    read_all(path, size)


def test_a_dump_is_no_text(tmp_path):
  path = tmp_path / "a.xml"
  path.write_text("<mediawiki>")
  assert form_of(path) is None
  path.write_text('{"title": 1')
  assert form_of(path) == "json"


titles = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=5)
bodies = st.text(st.sampled_from('ab "\\\n\u2028é<&'), max_size=30)


@given(st.lists(st.tuples(titles, bodies), max_size=6), st.integers(1, 80))
def test_any_cut(rows, size):
  documents = [Document(n, t, b) for n, (t, b) in enumerate(rows) if t.strip()]
  with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "a.jsonl")
    path.write_text(as_json(documents) or "{", encoding="utf-8")
    parts = split_texts([path], size)
    assert not documents or [x for part in parts for x in read_documents(part)] == documents


BAD = {
  '<doc id="1">\na\n</doc>\n': "line 1: '<doc id=\"1\">' has no title",
  '<doc title="">\na\n</doc>\n': "line 1: an empty title",
  '<doc title="a">\na\n<doc title="b">\n</doc>\n': "line 1: no </doc> at its end",
  '<doc title="a">\na': "line 1: cut off in a document",
  '{"title": "a", "text": "b"}\n{"title": 1, "text": "b"}': 'line 2: "title" or "text" is missing',
  '{"title": "a"}': "no string among 'title'",
  '{"title" "a"}': "line 1: no JSON",
  '{"title": "a", "text": "b"}\n[1]': "line 2: no object of JSON",
}


@pytest.mark.parametrize(("text", "fault"), BAD.items())
def test_bad_texts(text, fault, tmp_path):
  path = tmp_path / "texts"
  path.write_text(text)
  with pytest.raises(InputError) as error:
    read_all(path, 1000)
  assert fault in str(error.value) and str(path) in str(error.value)
  assert "\n" not in str(error.value)


def test_bad_texts_are_skipped_and_counted(tmp_path):
  path = tmp_path / "texts"
  path.write_bytes(b'{"title": "a", "text": "\xff"}\n{}\n{"title": "b", "text": ""}\n')
  (part,) = split_texts([path], 1000)
  faults = Counter()
  found = list(read_documents(part, faults=faults, skip_bad=True))
  assert [x.title for x in found] == ["a", "b"]
  assert faults == {"invalid UTF-8": 1, "bad page skipped": 1}


def test_a_folder_without_texts(tmp_path):
  with pytest.raises(InputError, match="a folder without files in"):
    split_texts([tmp_path], 1)


def test_pages():
  page = page_from_document(DOCUMENTS[0], "en")
  assert (page.id, page.title, page.disambiguation) == (7, "Ana & Lee", False)
  assert page.paragraphs == (
    Paragraph("Ana is <a> moth.", (), True),
    Paragraph("Life.", (), False, "Life"),
    Paragraph("It flies.", (), False, "Life"),
  )
  assert page.facts.first_sentence == "Ana is <a> moth."
  other = page_from_document(Document(None, "Ana", "Ana may refer to:\nAna, a moth"), "en")
  assert other.disambiguation and other.id == page_from_document(other_text(), "de").id > 0


def test_ids_that_are_no_numbers_are_kept_with_the_page():
  lines = '{"id": "C-17", "title": "Ana", "text": "x"}\n{"id": 4, "title": "Bo", "text": "y"}\n'
  with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "a.jsonl")
    path.write_text(lines, encoding="utf-8")
    one, other = (x for part in split_texts([path], 99) for x in read_documents(part))
  assert (one.id, one.own_id, other.id, other.own_id) == (None, "C-17", 4, None)
  page = page_from_document(one, "en")
  assert page_from_bytes(page_to_bytes(page)) == page and page.own_id == "C-17"
  plain = page_from_document(other, "en")
  assert b"null,null]" in page_to_bytes(plain)  # as it was written before there were any
  assert page_from_bytes(page_to_bytes(plain)) == plain


def other_text():
  return Document(None, " Ana", "x")


@pytest.mark.parametrize("again", ['<doc title="a">', "<doc ", 'a="b" ', "\n", "{", "&amp;"])
def test_time(again, tmp_path):
  path = tmp_path / "texts"
  path.write_text('<doc title="a" ' + again * (500_000 // len(again)))
  start = time.process_time()
  for part in [TextPart(path, "doc", 0, 500_000), TextPart(path, "json", 0, 500_000)]:
    list(read_documents(part, skip_bad=True)) if part.form == "json" else cut_off(part)
  assert time.process_time() - start < 2


def cut_off(part):
  with pytest.raises(InputError):
    list(read_documents(part, skip_bad=True))
