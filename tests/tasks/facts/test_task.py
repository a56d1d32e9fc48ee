"""Rows of facts, what their labels say, and how outputs become facts and figures."""

import dataclasses
import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_models import TOKENIZER

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.heads.facts import MENTIONS, MENTIONS_OF_NAME, NAMES, TYPES
from luke_jax.nn.losses import IGNORED
from luke_jax.tasks.facts import score
from luke_jax.tasks.facts.features import room_for_names
from luke_jax.tasks.facts.files import FactsExample, Holds, NameOfText
from luke_jax.tasks.facts.task import Facts
from luke_jax.tasks.predictions import Fact, Mention
from luke_jax.text import Processor, load_tokenizer
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES

TASK = Facts(labels=("knows", "likes"), types=("PER", "LOC"), words=64)


@pytest.fixture(scope="module")
def processor():
  tokenizer = load_tokenizer(TOKENIZER)
  kind = "entity_span_classification"
  return Processor(tokenizer, SPECIAL_ENTITIES, kind, max_length=64, max_entity_length=128)


def listed(count, *, facts=(), unknown=(), gap=" and "):
  """A text of so many names, each of which stands twice."""
  words = [f"N{i}x" for i in range(count)]
  text = gap.join(words * 2)
  starts = np.cumsum([0, *(len(x) + len(gap) for x in words * 2)])
  spans = [(int(s), int(s) + len(x)) for s, x in zip(starts, words * 2, strict=False)]
  names = tuple(NameOfText((spans[i], spans[i + count]), "PER") for i in range(count))
  return FactsExample("1", "here", text, names, tuple(facts), tuple(unknown))


def test_a_row_has_mentions_types_and_what_holds(processor):
  facts, unknown = [Holds(0, 1, "knows")], [Holds(1, 0), Holds(0, 2, "likes")]
  unknown += [Holds(2, 0, "no label of the task")]
  example = listed(3, facts=facts, unknown=unknown)
  (row,) = TASK.features(processor, [example])
  assert row.extra[MENTIONS].tolist() == [[1, 2, *[0] * 6], [3, 4, *[0] * 6], [5, 6, *[0] * 6]]
  assert row.extra[TYPES].tolist() == [1, 1, 1] and row.source == (0, 1, 2)
  assert row.labels[0, 1].tolist() == [1, 0] and row.labels[0, 2].tolist() == [0, IGNORED]
  assert row.labels[1, 0].tolist() == [IGNORED] * 2 and (row.labels[2, 2] == IGNORED).all()
  pieces = processor.tokenizer
  first = row.input_ids[slice(*row.entity_tokens[2])].tolist()
  assert first == pieces.encode([" N1x"])[0].ids


@given(st.integers(2, 60))
@settings(max_examples=12, deadline=2000)
def test_every_two_names_of_a_window_stand_together_in_a_row(processor, count):
  example = listed(count, gap=" ")
  windows = dataclasses.replace(processor, max_length=512)
  task = dataclasses.replace(TASK, words=512)
  rows = task.features(windows, [example])
  pairs = {x for row in rows for x in itertools.combinations(sorted(row.source), 2)}
  assert pairs == set(itertools.combinations(range(count), 2))
  for row in rows:
    assert len(row.source) <= room_for_names(len(row.input_ids)) <= NAMES
    assert row.extra[MENTIONS].max() == len(row.entity_ids) <= task.entities


def test_long_texts_are_read_in_windows_that_overlap(processor):
  rows = TASK.features(processor, [listed(40)])
  assert len(rows) > 1 and all(len(row.input_ids) <= 64 for row in rows)
  assert set(rows[0].source) & set(rows[1].source)


def test_a_text_with_one_name_or_none_has_no_row_and_no_facts(processor):
  empty = FactsExample("1", "here", "Nothing.", ())
  assert TASK.features(processor, [empty, listed(1)]) == []
  assert TASK.decode([empty, listed(1)], [], {}) == [[], []]


def test_many_mentions_of_a_name_leave_room_for_the_others(processor):
  text = " ".join(["Bo"] * 30 + ["Al"])
  names = NameOfText(tuple((3 * i, 3 * i + 2) for i in range(30))), NameOfText(((90, 92),))
  (row,) = TASK.features(processor, [FactsExample("1", "here", text, names)])
  assert len(row.entity_ids) == MENTIONS_OF_NAME + 1
  assert row.labels is None


def test_the_surest_window_decides_and_names_are_given_where_they_are_nearest(processor):
  example = listed(2)
  (row,) = TASK.features(processor, [example])
  logits = np.full((2, 2, 2, 2), -5.0)
  logits[0, 0, 1, 0], logits[1, 0, 1, 0], logits[1, 1, 0, 1] = 1.0, 2.0, 0.5
  logits[:, 0, 0] = 9.0  # of a name with itself
  ((one, other),) = TASK.decode([example], [row, row], {"logits": logits})
  assert (one.names, one.label) == ((0, 1), "knows") and (other.names, other.label) == (
    (1, 0),
    "likes",
  )
  assert one.score == pytest.approx(1 / (1 + np.exp(-2)))
  assert example.text[one.head.end : one.tail.start] == " and "
  assert TASK.with_threshold(0.7).decode([example], [row, row], {"logits": logits}) == [[one]]


def test_long_texts_with_many_mentions_take_time_by_their_length(processor):
  text = "Bo Al " * 8000
  names = (NameOfText(tuple((6 * i + x, 6 * i + x + 2) for i in range(8000))) for x in (0, 3))
  example = FactsExample("1", "here", text, tuple(names))
  windows = dataclasses.replace(processor, max_length=512)
  task = dataclasses.replace(TASK, words=512)
  begun = time.process_time()
  rows = task.features(windows, [example])
  logits = np.full((len(rows), 2, 2, 2), 5.0)
  (facts,) = task.decode([example], rows, {"logits": logits})
  assert {x.names for x in facts} == {(0, 1), (1, 0)} and len(facts) == 4
  assert all(abs(x.head.start - x.tail.start) == 3 for x in facts)
  assert example.inside(Holds(0, 1)) and time.process_time() - begun < 20


def test_types_and_relations_come_from_the_files():
  task = Facts().of_examples([listed(2, facts=[Holds(0, 1, "knows")])])
  assert (task.labels, task.types) == (("knows",), ("PER",))
  with pytest.raises(InputError, match="no facts; expected some"):
    Facts().of_examples([listed(2)])
  with pytest.raises(InputError, match=r"here: .*hates"):
    TASK.check_example(listed(2, facts=[Holds(0, 1, "hates")]))
  with pytest.raises(InputError, match="here: no facts"):
    TASK.check_example(dataclasses.replace(listed(2), facts=None))


def test_relations_of_which_names_have_one_tail_are_learnt():
  once = [listed(3, facts=[Holds(0, 1, "knows"), Holds(2, 0, "likes")])] * 25
  twice = [listed(3, facts=[Holds(0, 1, "likes"), Holds(0, 2, "likes")])] * 5
  assert TASK.tuned(None, [], [*once, *twice]) == {"single": ["knows"]}


labels = st.sampled_from(["knows", "likes"])
facts_of = st.lists(
  st.tuples(st.integers(0, 2), st.integers(0, 2), labels).filter(lambda x: x[0] != x[1]),
  unique=True,
  max_size=6,
)


@given(facts_of, facts_of, facts_of)
def test_scores_are_those_counted_one_by_one(gold, given_facts, unknown):
  example = listed(3, facts=[Holds(*x) for x in gold], unknown=[Holds(*x) for x in unknown])
  mention = Mention("", 0, 1)
  found = [Fact(mention, mention, x[2], 0.9, x[:2]) for x in given_facts]
  scores = score.evaluate([example], [found], 0.5).scores
  known = [x for x in given_facts if x not in unknown]
  right = sum(x in gold for x in known)
  precision = right / len(known) if known else 0
  recall = right / len(gold) if gold else 0
  assert scores["precision"] == pytest.approx(precision)
  assert scores["recall"] == pytest.approx(recall)
  assert scores["false_facts"] == len(known) - right
  written = {"1": tuple(Holds(*x) for x in given_facts)}
  assert score.score_file([example], written)["f1"] == pytest.approx(scores["f1"])


def test_scores_that_were_fitted_change_no_f1():
  """The score of a fact that a model gives may be below .5 once it is a share of right ones."""
  example, mention = listed(3, facts=[Holds(0, 1, "likes")]), Mention("", 0, 1)
  evaluations = [
    TASK.evaluate([example], [[Fact(mention, mention, "likes", x, (0, 1))]]) for x in (0.9, 0.3)
  ]
  assert [x.scores["f1"] for x in evaluations] == [1, 1]
  assert [x.score for x in evaluations[1].answers] == [0.3]


def test_predictions_of_others_that_name_nothing_are_a_line(tmp_path):
  path = tmp_path / "p.jsonl"
  for facts, fault in (("[[1]]", "line 1: facts: .1.; expected"), ("3", "line 1: facts: 3;")):
    path.write_text(f'{{"id": "1", "facts": {facts}}}\n')
    with pytest.raises(InputError, match=fault):
      score.read_predictions(path, Faults())
  with pytest.raises(InputError, match=r"id '1': \[0, 9, 'likes'\]; expected numbers below 3"):
    score.score_file([listed(3)], {"1": (Holds(0, 9, "likes"),)})


def test_precision_is_that_of_the_surest_with_a_recall():
  answers = [score.Answered(x, right) for x, right in ((0.9, True), (0.8, False), (0.7, True))]
  assert score.precision_at(answers, 2, 0.5) == 1.0
  assert score.precision_at(answers, 2, 1.0) == pytest.approx(2 / 3)
  assert score.precision_at(answers, 4, 1.0) == 0.0


def test_faults_of_texts_are_left_out_if_they_are_to_be(processor):
  faults = Faults(skip=True)
  bad = FactsExample("1", "here", "a  b", (NameOfText(((1, 2),)), NameOfText(((3, 4),))))
  assert TASK.features(processor, [bad], faults) == []
  assert "here" in str(faults.found[0])
