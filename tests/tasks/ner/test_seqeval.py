"""Scores against seqeval: its strict IOB2, and its default that is conlleval's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.tasks.ner.score import score
from luke_jax.tasks.ner.tags import SCHEMES, chunks, legal_chunks, tagged

seqeval = pytest.importorskip("seqeval", reason="needs the extra `parity`")
from seqeval import metrics, scheme  # noqa: E402

pytestmark = pytest.mark.parity

TAGS = ["O", *(f"{prefix}-{label}" for prefix in "BIES" for label in ("PER", "LOC"))]
# Of each sentence gold and predicted tags.
FILES = st.lists(
  st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), min_size=1, max_size=12),
  min_size=1,
  max_size=4,
)


def sides(file):
  return [[[pair[side] for pair in sentence] for sentence in file] for side in (0, 1)]


def ours(gold, predicted):
  scores = score(gold, predicted)
  return {name: scores[name] for name in ("f1", "precision", "recall")}


def theirs(gold, predicted, **options):
  arguments = {"average": "micro", "zero_division": 0, **options}
  names = ("f1", "precision", "recall")
  measures = (metrics.f1_score, metrics.precision_score, metrics.recall_score)
  return {
    name: pytest.approx(float(measure(gold, predicted, **arguments)))
    for name, measure in zip(names, measures, strict=True)
  }


@given(FILES)
def test_any_tags_as_conlleval(file):
  gold, predicted = sides(file)
  found = ours(*([set(chunks(tags)) for tags in side] for side in (gold, predicted)))
  assert found == theirs(gold, predicted)


@given(FILES, st.sampled_from(SCHEMES))
def test_legal_tags_as_the_strict_mode(file, name):
  gold, predicted = (
    [tagged(chunks(tags), len(tags), "IOB2", "") for tags in side] for side in sides(file)
  )
  expected = theirs(gold, predicted, mode="strict", scheme=scheme.IOB2)
  other = [
    [set(chunks(tagged(chunks(tags), len(tags), name, ""))) for tags in side]
    for side in (gold, predicted)
  ]
  assert ours(*other) == expected


@given(FILES, st.sampled_from(["IOB2", "BIOES"]))
def test_any_tags_as_the_strict_mode(file, name):
  gold, predicted = sides(file)
  if name == "IOB2":  # whose tags seqeval has to know
    gold, predicted = (
      [[tag.replace("E-", "I-").replace("S-", "B-") for tag in tags] for tags in side]
      for side in (gold, predicted)
    )
  theirs_scheme = {"IOB2": scheme.IOB2, "BIOES": scheme.IOBES}[name]
  expected = theirs(gold, predicted, mode="strict", scheme=theirs_scheme)
  found = ours(*([set(legal_chunks(tags, name)) for tags in side] for side in (gold, predicted)))
  assert found == expected
