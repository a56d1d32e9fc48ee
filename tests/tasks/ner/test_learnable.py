"""What a model can find of a file's entities, and what training refuses."""

import pytest
from tiny import tiny_processor

from luke_jax.errors import InputError
from luke_jax.tasks.ner.files import parse
from luke_jax.tasks.ner.learnable import check_learnable, marks, missed
from luke_jax.tasks.ner.task import NamedEntities

TEXT = "Johnson lives here. So does Ana."
LOST = {
  (0, 4): "begins or ends inside a word",
  (7, 8): "white space",
  (8, 14): "white space at its edge",
  (0, 18): "3 words; candidates have at most 2",
  (14, 22): "3 words; candidates have at most 2",
  (18, 22): "in more than one sentence",
}


def example(*spans):
  return parse({"text": TEXT, "spans": [[*span, "X"] for span in spans]}, "1", "here")


@pytest.mark.parametrize("span", LOST)
def test_why_an_entity_cannot_be_found(span):
  assert missed(example((0, 7), span), 2) == [("here", TEXT[slice(*span)], LOST[span])]
  assert missed(example((0, 7), (28, 31)), 2) == []


def rows_of(examples, **settings):
  task = NamedEntities(labels=("NIL", "X"), **settings)
  return task.features(task.fitted(tiny_processor()), examples)


@pytest.mark.filterwarnings("ignore:.* entities cannot be found")
def test_entities_that_a_tokenizer_has_no_candidate_for():
  whole = example((0, 7), (28, 31))
  rows = rows_of([whole])
  assert missed(whole, 16, rows) == []
  assert sorted(mark.label for row in rows for mark in marks(row, ("NIL", "X"))) == ["X", "X"]
  lost = missed(whole, 16, rows_of([whole], span_pieces=1))  # both have more
  assert [one.text for one in lost] == ["Johnson", "Ana"]
  assert lost[0].why == "no candidate with this model's word pieces"


@pytest.mark.filterwarnings("ignore:.* entities cannot be found")
def test_a_file_from_which_nothing_can_be_learnt():
  for spans, fault in [
    ([(0, 4), (7, 8)], "f.jsonl: none of its 2 entities can be found; expected whole words of"),
    ([], "f.jsonl: no entities; expected one at least"),
  ]:
    with pytest.raises(InputError, match=fault):
      check_learnable("f.jsonl", [example(*spans)], rows_of([example(*spans)]))
  check_learnable("f.jsonl", [example((0, 4), (28, 31))], rows_of([example((0, 4), (28, 31))]))
