"""Builds in a bucket: from a dump there to records there, the same bytes as on a disk."""

import dataclasses
import os
import subprocess
import sys
import time

import pytest
from wiki_builds import contents, made

from luke_jax.files import Path
from luke_jax.pipeline.stored import StoredRecords
from luke_jax.wiki.export.export import export
from luke_jax.wiki.export.read import read_pages
from luke_jax.wiki.mentions import make_mentions
from luke_jax.wiki.stages.build import build
from luke_jax.wiki.stages.engines import local
from luke_jax.wiki.stages.mentions import Filter
from luke_jax.wiki.stages.sources import Settings
from luke_jax.wiki.stages.vocabulary_stage import Selection


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "cache"))


def differing(cloud_storage, there, here):
  """The names of the files that differ between two builds; their notes of the dump's place do."""
  one, other = cloud_storage.files(str(there)), contents(here)
  assert len(one) > 10
  names = (one.keys() | other.keys()) - {"dumps.json"}
  return [name for name in names if one.get(name) != other.get(name)]


def moved(settings, bucket):
  """The settings with dump and tokenizer in the bucket."""
  for file in (*settings.dumps, *settings.tokenizer.iterdir()):
    (bucket / file.parent.name / file.name).write_bytes(file.read_bytes())
  dumps = tuple(bucket / dump.parent.name / dump.name for dump in settings.dumps)
  return dataclasses.replace(settings, dumps=dumps, tokenizer=bucket / settings.tokenizer.name)


@pytest.mark.slow
def test_a_build_in_a_bucket(settings, bucket, tmp_path, cloud_storage):
  settings = dataclasses.replace(settings, part_size=50_000)
  made(settings, tmp_path / "here")
  there = moved(settings, bucket)
  result = made(there, bucket / "wiki")
  assert not differing(cloud_storage, bucket / "wiki", tmp_path / "here")
  again = made(there, bucket / "wiki")
  assert all(done.fresh for done in result.stages.values())
  assert not any(done.fresh for done in again.stages.values())
  records = StoredRecords(str(bucket / "wiki/pretraining"))
  expected = StoredRecords(str(tmp_path / "here/pretraining"))
  assert [x.to_bytes() for x in records] == [x.to_bytes() for x in expected]


@pytest.mark.slow
def test_mentions_in_a_bucket(settings, bucket, tmp_path, cloud_storage):
  folders = (tmp_path / "here", bucket / "wiki")
  for folder, chosen in zip(folders, (settings, moved(settings, bucket)), strict=True):
    with local(2) as engine:
      build(chosen, folder, engine)
      make_mentions(folder, Filter(), engine)
  assert not differing(cloud_storage, bucket / "wiki", tmp_path / "here")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "beam"])
def test_the_command_in_a_bucket(engine, settings, bucket, tmp_path, cloud_storage):
  """Stopped by a kill, and made to the end by the same command."""
  options = ["--workers", "2"]
  if engine == "beam":
    pytest.importorskip("apache_beam", reason="needs the extra `beam`")
    options = ["--engine", "beam", "--beam-options", "--runner=DirectRunner --direct_num_workers=2"]
  settings = dataclasses.replace(settings, part_size=None, records_per_file=2**14)
  settings = dataclasses.replace(settings, selection=Selection(60))
  made(settings, tmp_path / "here")
  there = moved(settings, bucket)
  command = [sys.executable, "-m", "luke_jax", "wiki", "build", *map(str, there.dumps)]
  command += ["--tokenizer", str(there.tokenizer), "--output", str(bucket / "wiki")]
  command += ["--entities", "60", *options]
  environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
  with subprocess.Popen(command, env=environment) as process:
    while process.poll() is None and not (bucket / "wiki/titles/manifest.json").exists():
      time.sleep(0.1)
    process.kill()
  subprocess.run(command, env=environment, check=True, timeout=300)
  assert not differing(cloud_storage, bucket / "wiki", tmp_path / "here")
  assert not Path(bucket / "wiki/.lock").exists()


@pytest.mark.slow
def test_texts_and_tables_in_a_bucket(bucket, tokenizers, tmp_path, cloud_storage):
  for place in (tmp_path, bucket):
    for name, text in (("Old Rome", "Old Rome is by New Rome."), ("New Rome", "It is a town.")):
      (place / "texts").mkdir(exist_ok=True)
      (place / f"texts/{name}.txt").write_bytes(text.encode())
    settings = Settings((place / "texts",), tokenizers / "byte_level", language="en", part_size=20)
    with local(1) as engine:
      build(settings, place / "wiki", engine)
      export(place / "wiki", place / "tables", engine, form="jsonl")
  assert not differing(cloud_storage, bucket / "wiki", tmp_path / "wiki")
  assert cloud_storage.files(str(bucket / "tables")) == contents(tmp_path / "tables")
  pages = list(read_pages(bucket / "tables"))
  assert pages == list(read_pages(tmp_path / "tables"))
  assert [page.title for page in pages] == ["New Rome", "Old Rome"]
