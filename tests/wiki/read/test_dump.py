import bz2
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context

import pytest
import wiki_site
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.errors import InputError
from luke_jax.wiki.read import dump_files
from luke_jax.wiki.read.dump import DumpPart, RawPage, read_pages, read_site, split_dumps
from luke_jax.wiki.read.dump_files import stream_starts

TEXTS = [
  "'''Paris''' & <b>London</b> \"quoted\" it's",
  "القاهرة [[مصر]]\n東京\nМосква \U0001f600",
  "",
  "&lt; &amp;amp; <page> </page> <title>x</title> <text> </text> <revision>",
  "line\n" * 300,
  "]]>",
]
PAGES = [(number, f"Title {number} & é", TEXTS[number % len(TEXTS)]) for number in range(1, 80)]
DUMP = wiki_site.dump([wiki_site.page(*page) for page in PAGES]).encode()
LAST = bz2.compress(b"</mediawiki>\n")  # a multistream dump's last stream
EXPECTED = [RawPage(id, title, 0, None, text, id + 1000) for id, title, text in PAGES]


def streams(data, cuts):
  """bzip2 with a stream for each part between the cuts."""
  ends = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
  return [bz2.compress(data[a:b]) for a, b in pairwise(ends)]


def multistream(folder, index=".txt.bz2"):
  """A dump and its index, as Wikimedia makes them: ten pages a stream."""
  head, *rest = DUMP.split(b"  <page>\n")
  pages = [b"  <page>\n" + page for page in rest]
  pages[-1] = pages[-1].removesuffix(b"</mediawiki>\n")
  data, lines = bz2.compress(head), []
  for at in range(0, len(pages), 10):
    lines += [f"{len(data)}:{id}:{title}\n" for id, title, _ in PAGES[at : at + 10]]
    data += bz2.compress(b"".join(pages[at : at + 10]))
  path = folder / "enwiki-20240101-pages-articles-multistream.xml.bz2"
  path.write_bytes(data + LAST)
  name = path.name.replace("multistream.xml.bz2", f"multistream-index{index}")
  text = "".join(lines).encode()
  (folder / name).write_bytes(bz2.compress(text) if index.endswith("bz2") else text)
  return path


def written(path, data):
  path.write_bytes(data)
  return path


def read_all(paths, size):
  return [page for part in split_dumps(paths, size) for page in read_pages(part)]


def test_the_site(tmp_path):
  path = written(tmp_path / "a.xml", wiki_site.dump([], "nl").encode())
  site = read_site(path)
  assert (site.language, site.database, site.capitalised) == ("nl", "nlwiki", True)
  kinds = ("bestand", "afbeelding", "file", "image", "categorie", "category", "overleg", "sjabloon")
  assert [site.namespaces[kind] for kind in kinds] == [6, 6, 6, 6, 14, 14, 1, 10]
  assert site.names[6] == "Bestand"
  compressed = written(tmp_path / "a.xml.bz2", bz2.compress(path.read_bytes()))
  assert read_site(compressed) == site
  wiktionary = written(tmp_path / "b.xml", wiki_site.dump([], case="case-sensitive").encode())
  assert not read_site(wiktionary).capitalised


@pytest.mark.parametrize("size", [1, 7, 100, 1000, 4096, 1 << 30])
def test_plain_xml_in_pieces(tmp_path, size):
  path = written(tmp_path / "a.xml", DUMP)
  assert read_all([path], size) == EXPECTED


def test_one_stream_is_one_piece(tmp_path):
  path = written(tmp_path / "a.xml.bz2", bz2.compress(DUMP))
  assert split_dumps([path], 1) == [DumpPart(path, 0, path.stat().st_size)]
  assert read_all([path], 1) == EXPECTED


@pytest.mark.parametrize("size", [1, 500, 2000, 1 << 30])
@pytest.mark.parametrize("index", [".txt", ".txt.bz2"])
def test_multistream(tmp_path, size, index):
  path = multistream(tmp_path, index)
  indexed = split_dumps([path], size)
  assert [page for part in indexed for page in read_pages(part)] == EXPECTED
  for file in tmp_path.glob("*index*"):
    file.unlink()
  scanned = split_dumps([path], size)
  assert [page for part in scanned for page in read_pages(part)] == EXPECTED
  assert len(indexed) > 5 or size > 500


@given(st.lists(st.integers(0, len(DUMP)), max_size=60), st.integers(1, 3000))
def test_streams_cut_anywhere(tmp_path_factory, cuts, size):
  path = tmp_path_factory.mktemp("cuts") / "a.xml.bz2"
  path.write_bytes(b"".join(streams(DUMP, cuts)))
  assert read_all([path], size) == EXPECTED


@given(st.integers(1, 3000), st.integers(1, 3000))
def test_whatever_is_read_at_once(tmp_path_factory, size, chunk):
  folder = tmp_path_factory.mktemp("chunks")
  plain, packed = written(folder / "a.xml", DUMP), multistream(folder, ".txt")
  whole = stream_starts(packed)
  with pytest.MonkeyPatch.context() as patch:
    patch.setattr(dump_files, "_CHUNK", chunk)
    assert read_all([plain, packed], size) == EXPECTED * 2
    next(folder.glob("*index*")).unlink()
    assert stream_starts(packed) == [*whole, packed.stat().st_size - len(LAST)]


def test_streams_of_a_byte_each(tmp_path):
  short = wiki_site.dump([wiki_site.page(*page) for page in PAGES[:3]]).encode()
  path = written(tmp_path / "a.xml.bz2", b"".join(streams(short, range(len(short)))))
  assert read_all([path], 1) == EXPECTED[:3]


def test_several_files_and_every_process_see_the_same(tmp_path):
  paths = [written(tmp_path / "a.xml", DUMP), multistream(tmp_path)]
  parts = split_dumps(paths, 3000)
  with ProcessPoolExecutor(2, get_context("spawn")) as pool:
    read = pool.map(pages_of, parts)
    assert [page for part in read for page in part] == EXPECTED * 2


def pages_of(part):
  return list(read_pages(part))


def read_one(tmp_path, element):
  path = written(tmp_path / "a.xml", wiki_site.dump([element]).encode())
  (page,) = read_all([path], 1 << 20)
  return page


def test_layouts_of_a_page(tmp_path):
  redirect = wiki_site.page(1, "A", "#REDIRECT [[B]]", redirect='B "&" C')
  assert read_one(tmp_path, redirect).redirect == 'B "&" C'
  old = "<page><title>A</title><id>5</id><redirect /><revision><id>9</id>"
  old += "<text>#redirect [[Old home|x]]</text></revision></page>"
  assert read_one(tmp_path, old) == RawPage(5, "A", 0, "Old home", "#redirect [[Old home|x]]", 9)
  talk = wiki_site.page(2, "Talk:A", "x", namespace=1)
  assert read_one(tmp_path, talk).namespace == 1
  history = "<page><title>A</title><ns>0</ns><id>3</id><revision><text>old</text></revision>"
  history += '<revision><text xml:space="preserve">new&#10;&#x41;</text></revision></page>'
  assert read_one(tmp_path, history).text == "new\nA"
  dated = history.replace(
    "<revision><text xml",
    "<revision><id>7</id>\n<timestamp>2024-01-31T12:00:00Z</timestamp><text xml",
  )
  page = read_one(tmp_path, dated)
  assert (page.revision, page.time) == (7, "2024-01-31T12:00:00Z")
  deleted = history.replace("</page>", '<revision><text deleted="deleted" /></revision></page>')
  assert read_one(tmp_path, deleted).text == ""


def test_bytes_that_are_not_utf8_are_counted(tmp_path):
  data = DUMP.replace("القاهرة".encode(), b"\xff\xfe", 1)
  path, faults = written(tmp_path / "a.xml", data), Counter()
  read = [page for part in split_dumps([path], 1 << 20) for page in read_pages(part, faults=faults)]
  assert [page.id for page in read] == [page.id for page in EXPECTED]
  assert faults == {"invalid UTF-8": 1}


def test_a_huge_page(tmp_path):
  text = "[[" * (10 << 20)
  element = wiki_site.page(1, "A", text)
  path = written(tmp_path / "a.xml.bz2", bz2.compress(wiki_site.dump([element]).encode()))
  (page,) = read_all([path], 1)
  assert page.text == text


COMPRESSED = bz2.compress(DUMP)
ENDLESS = DUMP.replace(b"</page>", b"", 1)
BAD = {
  "empty": (".xml", b"", "empty; expected a dump"),
  "html": (".xml", b"<!DOCTYPE html><html></html>", "no </mediawiki> at its end"),
  "html, compressed": (".xml.bz2", bz2.compress(b"<html></html>"), "a web page, such as"),
  "UTF-16": (".xml.bz2", bz2.compress(DUMP.decode().encode("utf-16")), "no <mediawiki>"),
  "no siteinfo": (".xml.bz2", bz2.compress(b"<mediawiki>\n</mediawiki>"), "no <siteinfo>"),
  "siteinfo": (".xml.bz2", bz2.compress(DUMP.replace(b"</case>", b"")), "<siteinfo>: mismatched"),
  "not bz2": (".xml.bz2", b"<mediawiki>", "expected .bz2, which starts with b'BZh'"),
  "not bz2 at all": (
    ".xml.bz2",
    b"BZhello, this is no bzip2 file",
    "damaged in the stream at byte 0; ex",
  ),
  "cut bz2": (
    ".xml.bz2",
    COMPRESSED[:-20],
    "cut off in the stream at byte 0; expected a whole dump",
  ),
  "damaged bz2": (".xml.bz2", COMPRESSED[:200] + b"\0" * 50 + COMPRESSED[250:], "damaged in the"),
  "rubbish behind": (".xml.bz2", COMPRESSED + b"rubbish", "damaged in the stream at byte"),
  "cut": (".xml", DUMP[:-500], "no </mediawiki> at its end, byte"),
  "cut, compressed": (".xml.bz2", bz2.compress(DUMP[:-500]), "cut off in page 'Title 78 & é'"),
  "endless page": (".xml", ENDLESS, "page 'Title 1 & é' has no end; expected </page>, or --skip"),
  "endless text": (".xml", DUMP.replace(b"</text>", b"", 1), "its text has no end"),
  "no id": (
    ".xml",
    DUMP.replace(b"<id>1</id>", b"<id>x</id>", 1),
    "without title or id; expected both, or --skip-bad-pages",
  ),
  "no title": (".xml", DUMP.replace(b"<title>Title 1 ", b"<t>", 1), "page '1' without title"),
  "namespace": (".xml", DUMP.replace(b"<ns>0", b"<ns>a", 1), "expected a number"),
}


@pytest.mark.parametrize(("suffix", "data", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line(tmp_path, suffix, data, message):
  path = written(tmp_path / f"a{suffix}", data)
  with pytest.raises(InputError) as error:
    parts = split_dumps([path], 1 << 20)
    read_site(path)
    for part in parts:
      list(read_pages(part))
  assert str(error.value).startswith(f"{path}: ")
  assert message in str(error.value)
  assert "\n" not in str(error.value)


def test_missing_and_unreadable(tmp_path):
  for path in (tmp_path / "none.xml", tmp_path):
    with pytest.raises(InputError, match="expected a dump"):
      split_dumps([path], 1)


def test_the_index_of_another_dump(tmp_path):
  path = multistream(tmp_path, ".txt")
  (index,) = tmp_path.glob("*index*")
  index.write_text("17:1:A\n")
  with pytest.raises(InputError, match="no stream at byte 17 of the dump; expected its own index"):
    split_dumps([path], 1)
  index.write_text("hello\n")
  with pytest.raises(InputError, match="expected lines like 600:10:Title"):
    split_dumps([path], 1)


def test_a_stream_past_the_piece_is_left_alone_where_its_pages_end(tmp_path):
  path = multistream(tmp_path)
  first, second, *_ = split_dumps([path], 1)[1:]
  data = path.read_bytes()
  damaged = data[: second.start + 10] + b"damage" + data[second.start + 16 :]
  path = written(tmp_path / "damaged.xml.bz2", damaged)
  pages = list(read_pages(DumpPart(path, first.start, first.stop)))
  assert [page.id for page in pages] == list(range(1, 11))
  with pytest.raises(InputError, match="damaged"):
    list(read_pages(DumpPart(path, second.start, second.stop)))
