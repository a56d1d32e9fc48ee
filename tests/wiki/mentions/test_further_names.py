"""Names that are no links: where each is from, and what it weighs."""

import numpy as np
import pytest
from small_wikis import build_wiki

from luke_jax.wiki.mentions import Candidate, Mentions, annotate, make_mentions
from luke_jax.wiki.stages.engines import local
from luke_jax.wiki.stages.mentions import Filter, sources_of, weights_of
from luke_jax.wiki.stages.tokens import name_of

PAGES = {
  "Lee (moth)": "'''Lee''' or the '''White Lee''' is a moth of [[Rome]].",
  "Lee": "Lee may mean:\n* [[Lee (moth)]], of [[Rome]]\n* [[Ana Lee]], a poet\n{{disambiguation}}",
  "Ana Lee": "Ana Lee is a poet from [[Rome|Old Rome]] who wrote on the [[Lee (moth)|moth]].",
  "Rome": "Rome is a town where [[Ana Lee|Lee]] lives. She is [[Ana Lee]]. And [[Ana Lee|Lee]]!",
  "Roma (town)": "#REDIRECT [[Rome]]",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
  return build_wiki(tmp_path_factory.mktemp("wiki") / "en", PAGES)


def made(folder, further):
  with local(1) as engine:
    return make_mentions(folder, Filter(), engine, further=further)


def test_names_and_their_sources(built):
  made(built, further=True)
  mentions = Mentions(built)

  def candidates(name):
    return mentions.candidates(mentions.number(name_of(name, 9)))

  # Two links to the poet and a quarter, for the disambiguation; the moth has three sources.
  assert candidates("lee") == [
    Candidate("Ana Lee", pytest.approx(2.25 / 3), ("link", "disambiguation")),
    Candidate("Lee (moth)", pytest.approx(0.75 / 3), ("base-title", "bold", "disambiguation")),
  ]
  assert candidates("Lee (moth)") == [Candidate("Lee (moth)", 1.0, ("link", "title"))]
  assert candidates("white lee") == [Candidate("Lee (moth)", 1.0, ("bold",))]
  assert candidates("Roma (town)") == [Candidate("Rome", 1.0, ("redirect",))]
  assert candidates("Roma") == [Candidate("Rome", 1.0, ("base-title",))]
  assert candidates("moth")[0].sources == ("link",)
  number = mentions.number("white lee")
  assert mentions.link_probabilities(np.array([number])) == 0
  # A name that is no link is none of a text, unless it is asked for.
  assert [x.start for x in annotate("White Lee of Rome", mentions)] == [6, 13]
  assert annotate("White Lee", mentions, min_link_probability=0)[0].end == 9


def test_links_alone(built):
  made(built, further=True)
  stages = made(built, further=False)
  assert all(done.fresh for done in stages.values())
  mentions = Mentions(built)
  assert mentions.candidates(mentions.number("lee")) == [Candidate("Ana Lee", 1.0)]
  assert mentions.number("white lee") == -1
  assert not (built / "mentions/candidate_sources.npy").exists()


def test_weights():
  masks = np.array([0, 1, 31], np.uint8)
  assert weights_of(np.array([2, 0, 1]), masks).tolist() == [2, 0.5, 2.75]
  assert sources_of(0, 5) == ("title", "base-title")
  assert sources_of(3, 0) == ("link",)
