"""Dumps that are cut or have bad pages, and dumps compressed in other ways."""

import bz2
import gzip
import lzma
import sys
import zlib
from collections import Counter

import pytest
import wiki_site

from luke_jax.errors import InputError
from luke_jax.wiki.read.dump import SKIPPED, read_pages, read_site, split_dumps

PAGES = [wiki_site.page(number, f"Title {number}", "text\n" * number) for number in range(1, 41)]
DUMP = wiki_site.dump(PAGES).encode()
HEAD = DUMP[: DUMP.index(b"  <page>")]


def written(path, data):
  path.write_bytes(data)
  return path


def ids(path, size, **options):
  parts = split_dumps([path], size)
  return [page.id for part in parts for page in read_pages(part, **options)]


def streams():
  """The streams of a multistream dump: the head, ten pages each, the end."""
  tens = ["".join(PAGES[at : at + 10]).encode() for at in range(0, len(PAGES), 10)]
  return [bz2.compress(part) for part in (HEAD, *tens, b"</mediawiki>\n")]


@pytest.mark.parametrize("size", [1, 1 << 30])
@pytest.mark.parametrize("lost", [1, 2, 4])
def test_a_multistream_dump_cut_between_streams_is_an_error(lost, size, tmp_path):
  path = written(tmp_path / "a.xml.bz2", b"".join(streams()[:-lost]))
  with pytest.raises(InputError, match=r"no </mediawiki> at its end, byte \d+; .* fetch it again"):
    ids(path, size, skip_bad=True)


def test_a_dump_cut_between_streams_that_its_index_names(tmp_path):
  own, at, lines = streams(), 0, []
  for number, stream in enumerate(own[:-1]):
    lines += [f"{at}:{number}:Title\n"] if number else []
    at += len(stream)
  path = tmp_path / "a-multistream.xml.bz2"
  (tmp_path / "a-multistream-index.txt").write_text("".join(lines))
  assert ids(written(path, b"".join(own)), 1) == list(range(1, 41))
  with pytest.raises(InputError, match=r"cut off at byte \d+, for its index has a stream at byte"):
    ids(written(path, b"".join(own[:-2])), 1)


def test_one_stream_without_an_end_is_an_error(tmp_path):
  cut = DUMP[: DUMP.index(b"  <page>\n    <title>Title 31<")]
  for suffix, compressed in (
    (".bz2", bz2.compress),
    (".gz", gzip.compress),
    (".xz", lzma.compress),
  ):
    path = written(tmp_path / f"a.xml{suffix}", compressed(cut))
    with pytest.raises(InputError, match="no </mediawiki> at its end, after page 'Title 30';"):
      ids(path, 1, skip_bad=True)


BAD = {
  "no end": (b"</page>\n  <page>\n    <title>Title 8<", b"<page>\n    <title>Title 8<"),
  "no end of the text": (b"</text>", b""),
  "no title": (b"<title>Title 7</title>", b""),
  "no id": (b"<id>7</id>\n    <revision", b"<id>seven</id>\n    <revision"),
  "namespace": (b"<ns>0</ns>", b"<ns>zero</ns>"),
}


@pytest.mark.parametrize(("old", "new"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("size", [1, 700, 1 << 30])
def test_a_bad_page_is_skipped_and_counted(old, new, size, tmp_path):
  start, stop = (DUMP.index(f"<title>Title {number}<".encode()) for number in (7, 9))
  head, page, tail = DUMP[:start], DUMP[start:stop], DUMP[stop:]
  assert old in page
  path, faults = written(tmp_path / "a.xml", head + page.replace(old, new, 1) + tail), Counter()
  with pytest.raises(InputError, match=r"expected .*, or --skip-bad-pages to read the others"):
    ids(path, size)
  assert ids(path, size, skip_bad=True, faults=faults) == [*range(1, 7), *range(8, 41)]
  assert faults == {SKIPPED: 1}


@pytest.mark.parametrize("suffix", ["xml", "xml.bz2", "xml.xz", "xml.gz"])
def test_a_page_that_is_too_large_is_named_or_counted(suffix, tmp_path, monkeypatch):
  """A file of a few kilobytes may hold a page of gigabytes, so none is held whole."""
  monkeypatch.setattr("luke_jax.wiki.read.dump.LONGEST", 1 << 21)
  large = wiki_site.page(99, "Vast", "x" * (7 << 20))
  data = wiki_site.dump([*PAGES[:20], large, *PAGES[20:]]).encode()
  pack = {"xml": bytes, "xml.bz2": bz2.compress, "xml.xz": lzma.compress, "xml.gz": gzip.compress}
  path = written(tmp_path / f"a.{suffix}", pack[suffix](data))
  with pytest.raises(InputError, match=r"page 'Vast' has more than 50,000,000 bytes; .* or --skip"):
    ids(path, 1 << 30)
  for size in (1 << 18, 1 << 30):
    faults = Counter()
    assert ids(path, size, faults=faults, skip_bad=True) == list(range(1, 41))
    assert faults[SKIPPED] == 1


def test_an_xz_file_of_several_streams_and_one_that_wants_too_much_memory(tmp_path):
  packed = b"".join(lzma.compress(x) for x in (DUMP[:500], DUMP[500:]))
  assert ids(written(tmp_path / "a.xml.xz", packed + bytes(4)), 1 << 30) == list(range(1, 41))
  filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1536 << 20}]
  empty = lzma.LZMACompressor(filters=[{"id": lzma.FILTER_LZMA2, "preset": 0}])
  packed = bytearray(empty.compress(DUMP) + empty.flush())
  wanted = lzma._encode_filter_properties(filters[0])
  place = packed.index(bytes([0x21, 1]), 12) + 2  # the filter's properties in the block's header
  packed[place : place + 1] = wanted
  size = 4 * (packed[12] + 1)
  packed[12 + size - 4 : 12 + size] = zlib.crc32(packed[12 : 12 + size - 4]).to_bytes(4, "little")
  with pytest.raises(InputError, match=r"damaged \(Memory usage limit exceeded\)"):
    ids(written(tmp_path / "b.xml.xz", bytes(packed)), 1 << 30)


def test_a_last_page_without_an_end_is_a_bad_page(tmp_path):
  end = DUMP.rindex(b"  </page>")
  path, faults = written(tmp_path / "a.xml", DUMP[:end] + b"</mediawiki>\n"), Counter()
  assert ids(path, 1, skip_bad=True, faults=faults) == list(range(1, 40))
  assert faults == {SKIPPED: 1}


def zstandard(data):
  module = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
  return pytest.importorskip(module, reason="needs the extra `zstd`").compress(data)


def halves(compress):
  """Compressed data of two members, as some tools write it."""
  return lambda data: compress(data[: len(data) // 2]) + compress(data[len(data) // 2 :])


OTHER = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard}


@pytest.mark.parametrize("suffix", OTHER)
def test_other_compressions(suffix, tmp_path):
  path = written(tmp_path / f"a.xml{suffix}", halves(OTHER[suffix])(DUMP))
  assert read_site(path).database == "enwiki"
  assert ids(path, 1) == list(range(1, 41))
  assert len(split_dumps([path], 1)) == 1
  unnamed = written(tmp_path / "dump", path.read_bytes())
  assert ids(unnamed, 1) == list(range(1, 41))


@pytest.mark.parametrize("suffix", OTHER)
def test_other_compressions_that_are_cut_or_damaged(suffix, tmp_path):
  data = OTHER[suffix](DUMP)
  path = written(tmp_path / f"a.xml{suffix}", data[:-10])
  with pytest.raises(InputError, match=r"a.xml.*: cut off; expected a whole dump"):
    ids(path, 1)
  middle = len(data) // 2
  written(path, data[:middle] + bytes(40) + data[middle + 40 :])
  with pytest.raises(InputError, match=r"a.xml.*: (damaged \(|cut off)") as fault:
    ids(path, 1)
  assert "\n" not in str(fault.value)
  written(path, b"<mediawiki>")
  with pytest.raises(InputError, match=rf"starts with b'<media'; expected {suffix}, which"):
    ids(path, 1)


def test_zstandard_that_is_not_installed_is_one_line(monkeypatch, tmp_path):
  path = written(tmp_path / "a.xml.zst", b"\x28\xb5\x2f\xfd and so on")
  monkeypatch.setitem(sys.modules, "compression", None)
  monkeypatch.setitem(sys.modules, "backports", None)
  with pytest.raises(InputError, match=r"expected it to read .*a.xml.zst: .*luke_jax\[zstd\]"):
    ids(path, 1)


@pytest.mark.parametrize(
  ("name", "start"), [("a.xml.7z", b"7z\xbc\xaf\x27\x1c"), ("a.zip", b"PK\3\4")]
)
def test_archives_say_how_to_take_the_dump_out(name, start, tmp_path):
  path = written(tmp_path / name, start + b"...")
  with pytest.raises(
    InputError, match=rf"an archive; expected a dump, .*, as of: .* {name} \| bzip2"
  ):
    ids(path, 1)


NONE = {
  "web page": (
    b"<!DOCTYPE html>\n<html><title>404</title></html>",
    "a web page, such as an error of",
  ),
  "SQL": (b"-- MySQL dump\n", "no <mediawiki>, starts with b'-- MySQL dump"),
  "UTF-16": (DUMP.decode().encode("utf-16"), "expected a dump of pages-articles in UTF-8"),
}


@pytest.mark.parametrize(("data", "line"), NONE.values(), ids=NONE)
@pytest.mark.parametrize("compressed", [bytes, bz2.compress, gzip.compress])
def test_a_file_that_is_no_dump(data, line, compressed, tmp_path):
  with pytest.raises(InputError) as fault:
    read_site(written(tmp_path / "a.xml", compressed(data)))
  assert line in str(fault.value) and "\n" not in str(fault.value)


@pytest.mark.parametrize("form", ["line ends of Windows", "byte order mark"])
def test_other_forms_of_text_read_the_same(form, tmp_path):
  other = DUMP.replace(b"\n", b"\r\n") if form.startswith("line") else b"\xef\xbb\xbf" + DUMP
  plain, path = written(tmp_path / "a.xml", DUMP), written(tmp_path / "b.xml", other)
  assert read_site(path) == read_site(plain)
  (part,), (expected,) = (split_dumps([file], 1 << 30) for file in (path, plain))
  assert list(read_pages(part)) == list(read_pages(expected))


def test_a_page_without_title_is_named_by_its_number(tmp_path):
  path = written(tmp_path / "a.xml", DUMP.replace(b"<title>Title 7</title>", b""))
  with pytest.raises(InputError, match="page '7' without title or id; expected both, or --skip"):
    ids(path, 1 << 30)
