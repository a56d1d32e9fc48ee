"""Files arrive whole from a server that fails, and nothing else is kept."""

import hashlib

import pytest
from mirror import DATE, served

from luke_jax.errors import InputError
from luke_jax.files import fetch as fetching
from luke_jax.files.fetch import fetch, read_page, size_of

CONTENT = bytes(range(256)) * 12_000  # three pieces
SHA1 = hashlib.sha1(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
  monkeypatch.setattr(fetching, "PAUSE", 0.0)


@pytest.fixture
def folder(tmp_path):
  (tmp_path / "server").mkdir()
  (tmp_path / "server" / DATE).write_bytes(CONTENT)
  return tmp_path / "server"


@pytest.mark.parametrize("ranges", [True, False])
def test_what_is_cut_off_goes_on(folder, tmp_path, ranges):
  seen = []
  with served(folder, [503, 1_500_000, 429, 2_000_000 - 1], ranges) as (address, asked):
    fetch(f"{address}/{DATE}", tmp_path / "file", SHA1, seen.append)
    began = [x[2] for x in asked if x[0] == "GET"]
    assert (tmp_path / "file").read_bytes() == CONTENT and seen[-1] == len(CONTENT)
    assert ("bytes=1500000-" in began) and (len(began) == 4 if ranges else len(began) > 4)
    before = len(asked)
    fetch(f"{address}/{DATE}", tmp_path / "file", SHA1, seen.append)
    assert len(asked) == before  # nobody is asked again
  assert not (tmp_path / "file.part").exists()


def test_an_earlier_command_had_a_part_or_all_of_it(folder, tmp_path):
  part = tmp_path / "file.part"
  for there in (1000, len(CONTENT)):
    part.write_bytes(CONTENT[:there])
    with served(folder) as (address, asked):
      fetch(f"{address}/{DATE}", tmp_path / "file", SHA1, lambda _: None)
      assert [x[2] for x in asked if x[0] == "GET"] == ["bytes=1000-"] * (there == 1000)
    assert (tmp_path / "file").read_bytes() == CONTENT
    (tmp_path / "file").unlink()


def test_another_hash_is_thrown_away(folder, tmp_path):
  with (
    served(folder) as (address, _),
    pytest.raises(InputError, match=rf"SHA-1 {SHA1}; expected {'0' * 40}.*thrown away"),
  ):
    fetch(f"{address}/{DATE}", tmp_path / "file", "0" * 40, lambda _: None)
  assert not list(tmp_path.glob("file*"))


def test_what_does_not_answer_is_a_line(folder, tmp_path):
  with served(folder, [503] * 9) as (address, asked):
    with pytest.raises(InputError, match="503 Service Unavailable; expected an answer"):
      fetch(f"{address}/{DATE}", tmp_path / "file", SHA1, lambda _: None)
    assert sum(x[0] == "GET" for x in asked) == fetching.TRIES
    with pytest.raises(InputError, match="404 Not Found"):
      read_page(f"{address}/nothing")
  with pytest.raises(InputError, match="refused"):
    size_of(address)
  for other in ("file:///etc/passwd", "ftp://host/file", "dumps.wikimedia.org"):
    with pytest.raises(InputError, match="no address; expected one that begins with https://"):
      read_page(other)
