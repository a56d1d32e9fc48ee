"""Builds from texts without links: the same as from a dump, from their pages on."""

import dataclasses
import json

import pytest
from small_wikis import TOKENIZER
from wiki_builds import contents, made

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.wiki.stages.build import build
from luke_jax.wiki.stages.engines import beam
from luke_jax.wiki.stages.packing import RecordLimits
from luke_jax.wiki.stages.page_stage import shards_of
from luke_jax.wiki.stages.sources import Settings
from luke_jax.wiki.stages.vocabulary_stage import Selection

TEXTS = {
  "Old Rome": "Old Rome is a town on a river. People of Old Rome like New Rome too.",
  "New Rome": "New Rome is a town. Its river comes from Old Rome, as all say there.",
  "Ana Lee": "Ana Lee (born 1900) was a poet. She wrote much. Lee came from Old Rome.",
  "Bo Lee": "Bo Lee (born 1910) is a singer. He sang in New Rome with Ana Lee and Carl.",
  "Ana Lee (song)": "Ana Lee is a song of old times that they sing.",
}


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
  path = tmp_path_factory.mktemp("texts") / "texts.jsonl"
  rows = [
    {"id": id, "title": title, "text": text} for id, (title, text) in enumerate(TEXTS.items())
  ]
  path.write_text("".join(json.dumps(row) + "\n" for row in rows))
  return path


@pytest.fixture(scope="module")
def settings(texts):
  return Settings((texts,), TOKENIZER, language="en", selection=Selection(9), part_size=150)


@pytest.fixture(scope="module")
def built(settings, tmp_path_factory):
  return made(settings, tmp_path_factory.mktemp("built"))


def mentions(result):
  shards = shards_of(result.folder / "pages", result.stages["pages"])
  return {
    (page.title, link.text, link.target, link.source)
    for shard in range(len(shards))
    for page in shards.read_pages(shard)
    for paragraph in page.paragraphs
    for link in paragraph.links
  }


def test_mentions(built):
  assert len(built.stages["pages"].shards) > 2
  assert mentions(built) == {
    ("Old Rome", "Old Rome", "Old Rome", "own-title"),
    ("Old Rome", "New Rome", "New Rome", "title"),
    ("New Rome", "New Rome", "New Rome", "own-title"),
    ("New Rome", "Old Rome", "Old Rome", "title"),
    ("Ana Lee", "Ana Lee", "Ana Lee", "own-title"),
    ("Ana Lee", "Lee", "Ana Lee", "own-short"),
    ("Ana Lee", "Old Rome", "Old Rome", "title"),
    ("Bo Lee", "Bo Lee", "Bo Lee", "own-title"),
    ("Bo Lee", "New Rome", "New Rome", "title"),  # Ana Lee is a song, too
    ("Ana Lee (song)", "Ana Lee", "Ana Lee (song)", "own-title"),
  }
  assert built.stages["pages"].counts["mentions: title"] == 4
  assert built.stages["text_names"].counts == {"ambiguous": 1, "table": 0, "title": 3}


def test_names_of_a_table_and_sources_left_out(settings, tmp_path):
  table = tmp_path / "names.tsv"
  table.write_text("Carl\tCarl Ott\n\nRomans\tOld Rome\nOld Rome\tNew Rome\n")
  chosen = dataclasses.replace(settings, names=table, left_out=("own-short", "own-title"))
  found = mentions(made(chosen, tmp_path / "out"))
  assert ("Bo Lee", "Carl", "Carl Ott", "table") in found
  assert {source for *_, source in found} == {"table", "title"}
  assert not [x for x in found if x[1] == "Old Rome"]  # ambiguous by the table


def test_every_form_gives_the_same_pages(built, settings, tmp_path):
  (tmp_path / "tagged").write_text(
    "".join(
      f'<doc id="{id}" title="{title}">\n{title}\n\n{text}\n</doc>\n'
      for id, (title, text) in enumerate(TEXTS.items())
    )
  )
  (tmp_path / "folder").mkdir()
  for title, text in TEXTS.items():
    (tmp_path / f"folder/{title}.txt").write_text(text)
  for name in ("tagged", "folder"):
    result = made(dataclasses.replace(settings, dumps=(tmp_path / name,)), tmp_path / f"of {name}")
    assert mentions(result) == mentions(built)


def test_any_number_of_workers_makes_the_same_bytes(built, settings, tmp_path):
  made(settings, tmp_path, workers=2)
  assert contents(tmp_path) == contents(built.folder)


@pytest.mark.slow
def test_beam_makes_the_same_bytes(built, settings, tmp_path):
  pytest.importorskip("apache_beam", reason="needs the extra `beam`")
  with beam([]) as engine:
    build(settings, tmp_path, engine)
  assert contents(tmp_path) == contents(built.folder)


def test_another_option_makes_the_pages_anew(settings, tmp_path):
  made(settings, tmp_path)
  changed = dataclasses.replace(settings, left_out=("title",))
  result = made(changed, tmp_path)
  assert next(name for name, done in result.stages.items() if done.fresh) == "pages"
  limits = dataclasses.replace(changed, limits=RecordLimits(max_words=100))
  assert not made(limits, tmp_path).stages["pages"].fresh


FAULTS = {
  "no language": ({"language": None}, "texts, which do not say their language"),
  "unknown language": ({"language": "english"}, "--language: 'english'; expected the code"),
  "sections": ({"sections": True}, "--paragraphs sections: texts have none"),
  "dense links": ({"dense_links": True}, "--dense-links: for dumps, which have links"),
  "a source": ({"left_out": ("titles",)}, "--leave-out: 'titles'; expected some of own-title"),
  "no table": ({"names": Path("/none.tsv")}, "/none.tsv: no such file; expected lines of a name"),
}


@pytest.mark.parametrize(("change", "fault"), FAULTS.values(), ids=FAULTS)
def test_impossible_settings(change, fault, settings, tmp_path):
  with pytest.raises(InputError, match=fault):
    made(dataclasses.replace(settings, **change), tmp_path / "out")
  assert not (tmp_path / "out").exists()


def test_a_bad_table(settings, tmp_path):
  table = tmp_path / "names.tsv"
  table.write_text("Carl\tCarl Ott\nRome\n")
  with pytest.raises(InputError, match="line 2: 'Rome'; expected a name of at most 20 tokens"):
    made(dataclasses.replace(settings, names=table), tmp_path / "out")


def test_texts_and_dumps_do_not_mix(settings, tmp_path):
  dump = tmp_path / "a.xml"
  dump.write_text("<mediawiki>")
  with pytest.raises(InputError, match="neither texts nor a dump"):
    made(dataclasses.replace(settings, dumps=(*settings.dumps, dump)), tmp_path / "out")
