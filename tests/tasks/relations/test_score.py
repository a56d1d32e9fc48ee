"""The metrics: by hand, and against scorers that count one example after the other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.tasks.evaluation import Mark
from luke_jax.tasks.predictions import Mention, Relation
from luke_jax.tasks.relations.files import RelationExample
from luke_jax.tasks.relations.score import evaluate, read_predictions, score, score_file

NO = "no_relation"
CE12, CE21, MT12, OTHER = "Cause(e1,e2)", "Cause(e2,e1)", "Topic(e1,e2)", "Other"


def test_tacred_by_hand():
  gold = ["born", "born", "died", NO, NO, "left"]
  predicted = ["born", NO, "born", "died", NO, "left"]
  found = score(gold, predicted)
  # Four guesses, of which two are right; four relations.
  assert found["precision"] == found["recall"] == found["f1"] == 0.5
  assert found["accuracy"] == 3 / 6
  # born: 1 of 2 guesses, 1 of 2; died: nothing right; left: all right.
  assert found["macro_f1"] == pytest.approx((0.5 + 0 + 1) / 3)
  assert next(iter(found)) == "f1" and "semeval_macro_f1" not in found


def test_no_guess_at_all_is_precise_in_tacreds_scorer():
  found = score(["born", NO], [NO, NO])
  assert (found["precision"], found["recall"], found["f1"]) == (1, 0, 0)


@pytest.mark.parametrize("negative", ["no_relation", "Other"])
def test_the_label_of_no_relation_is_found(negative):
  assert score(["born", negative], ["born", negative])["recall"] == 1
  assert score([negative, negative], [negative, "born"])["precision"] == 0
  assert score(["NA", "born"], ["NA", "NA"], "NA")["f1"] == 0


def test_all_labels_count_where_none_says_no_relation():
  found = score(["born", "died"], ["born", "born"])
  assert found["f1"] == found["accuracy"] == 0.5


def test_a_direction_that_is_wrong_is_wrong_for_its_relation():
  """Of Cause, 2 of 4 guesses and of 3 are right; of Topic, 1 of 1 and of 2. Other is left out."""
  gold = [CE12, CE12, CE21, MT12, MT12, OTHER, OTHER]
  predicted = [CE12, CE21, CE21, MT12, OTHER, CE12, OTHER]
  found = score(gold, predicted)
  cause = 2 * (2 / 4) * (2 / 3) / (2 / 4 + 2 / 3)
  topic = 2 * 1 * (1 / 2) / (1 + 1 / 2)
  assert found["semeval_macro_f1"] == pytest.approx((cause + topic) / 2)
  assert next(iter(found)) == "semeval_macro_f1"
  # Label by label: (e1,e2) 1 of 2 and of 2, (e2,e1) 1 of 2 and of 1, Topic as before.
  assert found["macro_f1"] == pytest.approx((0.5 + 2 / 3 + topic) / 3)
  assert found["f1"] == pytest.approx(2 * (3 / 5) * (3 / 5) / (3 / 5 + 3 / 5))


def test_only_wrong_directions_are_worth_nothing():
  found = score([CE12, CE21], [CE21, CE12])
  assert found["semeval_macro_f1"] == found["f1"] == 0


def test_relations_that_gold_lacks_do_not_count_in_semevals_mean():
  assert score([CE12, OTHER], [CE12, MT12])["semeval_macro_f1"] == 1


def counted_as_tacred(gold, predicted):
  right, guessed, known = 0, 0, 0
  for g, p in zip(gold, predicted, strict=True):
    if g == NO:
      guessed += p != NO
    elif p == NO:
      known += 1
    else:
      guessed, known, right = guessed + 1, known + 1, right + (g == p)
  precision = right / guessed if guessed else 1.0
  recall = right / known if known else 0.0
  f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
  return precision, recall, f1


pairs = st.lists(st.tuples(*[st.sampled_from(["born", "died", "left", NO])] * 2), min_size=1)


@given(pairs)
def test_the_micro_scores_are_those_of_tacreds_scorer(some):
  gold, predicted = zip(*some, strict=True)
  found = score(gold, predicted, NO)
  expected = counted_as_tacred(gold, predicted)
  assert (found["precision"], found["recall"], found["f1"]) == pytest.approx(expected)


def counted_as_semeval(gold, predicted):
  """With a column for wrong directions, that precision counts as well."""
  cells, relations = {}, {g.split("(")[0] for g in gold} - {OTHER}
  for g, p in zip(gold, predicted, strict=True):
    row, column = g.split("(")[0], p.split("(")[0]
    if row == column and g != p:
      column = "wrong direction"
    cells[row, column] = cells.get((row, column), 0) + 1
  f1s = []
  for relation in relations:
    right = cells.get((relation, relation), 0)
    guessed = sum(n for (_, column), n in cells.items() if column == relation)
    guessed += cells.get((relation, "wrong direction"), 0)
    known = sum(n for (row, _), n in cells.items() if row == relation)
    f1s.append(2 * right / (guessed + known))
  return sum(f1s) / max(1, len(f1s))


LABELS = ["Cause(e1,e2)", "Cause(e2,e1)", "Topic(e1,e2)", "Topic(e2,e1)", "Whole(e1,e2)", OTHER]


@given(st.lists(st.tuples(*[st.sampled_from(LABELS)] * 2), min_size=1))
def test_the_macro_score_is_that_of_semevals_scorer(some):
  gold, predicted = zip(("Whole(e1,e2)", OTHER), *some, strict=True)
  found = score(gold, predicted)
  assert found["semeval_macro_f1"] == pytest.approx(counted_as_semeval(gold, predicted))


def example(id, label=NO):
  return RelationExample(id, f"FILE: line {id}", "Ana saw Bo", (0, 3), (8, 10), label)


def relation(label, score=0.9):
  return Relation(Mention("Ana", 0, 3), Mention("Bo", 8, 10), label, score)


def test_an_evaluation_says_where_the_scores_come_from():
  examples = [example("1", "born"), example("2", "born"), example("3"), example("4", "died")]
  predictions = [relation("born"), relation("died", 0.7), relation("born", 0.8), relation("", 0.0)]
  found = evaluate(examples, predictions, (NO, "born", "died", "left"))
  assert found.scores["f1"] == pytest.approx(2 * (1 / 3) * (1 / 3) / (2 / 3))
  assert found.scores["false_answers"] == 1  # the third, which has no relation
  assert found.labels["born"] == {"precision": 0.5, "recall": 0.5, "f1": 0.5, "count": 2}
  assert found.labels["left"]["count"] == 0 and set(found.labels) == {NO, "born", "died", "left"}
  told = {("born", "born"): 1, ("born", "died"): 1, (NO, "born"): 1, ("died", ""): 1}
  assert dict(found.confusion) == told
  assert [(x.id, x.gold, x.predicted) for x in found.mistakes] == [
    ("3", NO, "born"),
    ("2", "born", "died"),
    ("4", "died", ""),
  ]
  assert found.mistakes[0].marks == (Mark(0, 3, "head"), Mark(8, 10, "tail"))


FORMS = {
  "JSON lines": '{"id": "a", "label": "born", "score": 1}\n\n{"id": "b", "label": "died"}\n',
  "SemEval's scorer": "b\tdied\na\tborn\n",
  "TACRED's scorer": "born\ndied\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_predictions_scores_the_same(form, tmp_path):
  path = tmp_path / "predictions"
  path.write_text(FORMS[form])
  examples = [example("a", "born"), example("b", "left")]
  assert score_file(examples, read_predictions(path, Faults()))["f1"] == 0.5


def test_an_example_without_a_prediction_is_not_found(tmp_path):
  found = score_file([example("a", "born"), example("b", "born")], {"a": "born"})
  assert (found["precision"], found["recall"], found["accuracy"]) == (1, 0.5, 0.5)


def test_predictions_that_fit_no_example_are_refused():
  with pytest.raises(InputError, match="'c': of no example"):
    score_file([example("a")], {"a": NO, "c": NO})
  with pytest.raises(InputError, match="1 labels; expected 2"):
    score_file([example("a"), example("b")], [NO])
  with pytest.raises(InputError, match="FILE: line a: label: missing"):
    score_file([example("a", None)], [NO])


BAD = {
  "born\n\ndied\n": "line 2: ''; expected a label",
  "born\na\tdied\n": "line 2: 'a\\tdied'; expected a label",
  "a\tborn\na\tdied\n": "line 2: 'a\\tdied'; expected an id, each once",
  "a\tborn\nb\n": "line 2: 'b'; expected an id, each once, a tab and a label",
  '{"id": "a", "label": "born"}\n{"id": "b"}\n': "line 2: label: missing; expected a string",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_predictions_are_told_by_their_line(text, tmp_path):
  path = tmp_path / "predictions"
  path.write_text(text)
  with pytest.raises(InputError) as raised:
    read_predictions(path, Faults())
  assert str(raised.value).startswith(f"{path}: {BAD[text]}")
