"""Builds of the small dump, for tests."""

import numpy as np

from luke_jax.wiki.stages.build import build
from luke_jax.wiki.stages.engines import local
from luke_jax.wiki.stages.shuffle_stage import places_of
from luke_jax.wiki.stages.vocabulary_stage import Selection

SETTINGS = {"selection": Selection(60), "part_size": 8192, "records_per_file": 100}


def made(settings, folder, workers=1):
  with local(workers) as engine:
    return build(settings, folder, engine)


def contents(folder):
  files = (path for path in folder.rglob("*") if path.is_file())
  return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def origins(size, seed):
  """The record that the shuffle puts at each place."""
  return np.argsort(places_of(np.arange(size), size, seed))
