"""From examples to rows, from logits to types, and a model that learns them."""

import dataclasses

import numpy as np
import pytest
from marked_tasks import TEXT, experiment, learned, loss_and_gradients, with_labels, written
from networks import backbone

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.tasks.running import checked, processor_for
from luke_jax.tasks.typing.files import TypingExample
from luke_jax.tasks.typing.score import read_predictions, score_file
from luke_jax.tasks.typing.task import EntityTyping

TASK = EntityTyping(text=TEXT, labels=("event", "person", "pilot"), words=32, mention=8)


def example(text="Ana saw Bo .", mention="Bo", labels=("person",), id="1"):
  start = text.index(mention)
  return TypingExample(id, f"FILE: line {id}", text, (start, start + len(mention)), labels)


def rows(*examples, task=TASK, faults=None):
  return task.features(processor_for(task, backbone()), examples, faults)


def decoded(ids):
  return processor_for(TASK, backbone()).tokenizer.decode(ids)


def test_the_mention_stands_between_markers():
  (row,) = rows(example(labels=("pilot", "event")))
  assert decoded(row.input_ids) == "<s>Ana saw<ent> Bo<ent> .</s>"
  assert row.entity_ids.tolist() == [2]
  assert decoded(row.input_ids[slice(*row.entity_tokens[0])]) == "<ent> Bo<ent>"
  assert row.labels.tolist() == [1, 0, 1] and row.labels.shape == TASK.label_shape(TASK.sizes)


def test_an_example_may_have_no_answer():
  assert rows(example(labels=None))[0].labels is None
  assert rows(example(labels=()))[0].labels.tolist() == [0, 0, 0]


def test_of_a_long_text_the_row_has_what_stands_around_the_mention():
  (row,) = rows(example("one " * 40 + "Bo " + "two " * 40))
  assert len(row.input_ids) == 32 and "one<ent> Bo<ent> two" in decoded(row.input_ids)


LONG = example("one " * 40 + ".", mention="one " * 39 + "one", id="2")


def test_a_mention_that_no_row_can_hold_is_told_by_its_place():
  with pytest.raises(InputError) as raised:
    rows(example(), LONG)
  assert str(raised.value).startswith("FILE: line 2: its entities span")


def test_a_mention_that_no_row_can_hold_is_skipped_counted_and_left_without_types():
  examples, faults = [LONG, example()], Faults(skip=True)
  found = rows(*examples, faults=faults)
  assert [row.example for row in found] == [1] and len(faults.found) == 1
  skipping = dataclasses.replace(TASK, skip_bad=True)
  assert [row.example for row in rows(*examples, task=skipping)] == [1]
  predictions = TASK.decode(examples, found, {"logits": [[-1, 1, -1]]})
  assert [[span.label for span in types] for types in predictions] == [[], ["person"]]
  scores = TASK.evaluate(examples, predictions).scores
  assert scores["recall"] == 0.5 and scores["best_threshold_f1"] == pytest.approx(2 / 3)


def test_labels_above_the_threshold_are_predicted_the_likeliest_first():
  """Logits come as an array or row by row, of whatever width."""
  examples = [example(), example(id="2")]
  outputs = {"logits": [np.array([0.5, -0.1, 2.0]), np.array([0.0, -1.0, -0.5, 7.0])]}
  one, other = TASK.decode(examples, rows(*examples), outputs)
  assert [span.label for span in one] == ["pilot", "event"] and len(other) == 0
  assert [span.score for span in one] == pytest.approx([0.880797, 0.622459], abs=1e-6)
  assert {(span.text, span.start, span.end) for span in one} == {("Bo", 8, 10)}
  assert one.logits == {"event": 0.5, "person": -0.1, "pilot": 2.0}
  lower = dataclasses.replace(TASK, threshold=-0.7)
  one, other = lower.decode(examples, rows(*examples), outputs)
  assert [span.label for span in other] == ["event", "pilot"] and len(one) == 3
  assert [len(types) for types in TASK.decode(examples, [], {})] == [0, 0]


def test_the_best_threshold_of_an_evaluation_reaches_what_it_says():
  examples = [example(labels=("event",)), example(id="2", labels=("event", "person"))]
  outputs = {"logits": [[-2.0, -3.0, -4.0], [-1.0, -2.5, -5.0]]}
  found = TASK.evaluate(examples, TASK.decode(examples, rows(*examples), outputs)).scores
  assert found["f1"] == 0 and found["best_threshold_f1"] == 1
  tuned = dataclasses.replace(TASK, threshold=found["best_threshold"])
  again = tuned.evaluate(examples, tuned.decode(examples, rows(*examples), outputs))
  assert again.scores["f1"] == 1


def test_what_is_written_of_predictions_is_read_again(tmp_path):
  examples = [example(id="a"), example(id="b")]
  found = TASK.decode(examples, rows(*examples), {"logits": [[1, 2, -1], [-1, -1, -1]]})
  lines = [TASK.to_prediction(*pair) for pair in zip(examples, found, strict=True)]
  read = read_predictions(written(tmp_path / "predictions.jsonl", lines), Faults())
  assert read == {"a": {"event", "person"}, "b": set()}
  assert lines[0]["labels"] == ["person", "event"] and lines[0]["scores"] == [0.8808, 0.7311]
  assert score_file(examples, read).items() <= TASK.evaluate(examples, found).scores.items()


def test_examples_are_checked_for_labels():
  assert checked(TASK, [example(), example(labels=())], Faults())[1].labels == ()
  with pytest.raises(InputError, match="FILE: line 1: labels: missing"):
    checked(TASK, [example(labels=None)], Faults())
  with pytest.raises(InputError, match=r"FILE: line 1: label 'persan': .*perhaps 'person'"):
    checked(TASK, [example(labels=("persan",))], Faults())
  faults = Faults(skip=True)
  assert checked(TASK, [example(labels=("x",)), example(id="2")], faults) == [example(id="2")]
  assert len(faults.found) == 1


def test_settings_are_checked():
  for fields, told in (
    ({"threshold": float("nan")}, "threshold: nan; expected a number"),
    ({"labels": ("a", "a")}, "labels: a: twice"),
    ({"mention": 0}, "mention: 0"),
  ):
    with pytest.raises(InputError, match=told):
      EntityTyping(**fields)


def some(rng, count):
  """What someone did says what they are; a label more for women."""
  deeds = {"flew": "pilot", "sang": "singer", "ran": "runner"}
  for _ in range(count):
    name, deed = rng.choice(["Ana", "Emi", "Bo", "Dan"]), rng.choice(list(deeds))
    labels = [deeds[deed], *(["woman"] if name in ("Ana", "Emi") else [])]
    yield {"text": f"So {name} {deed} .", "span": [3, 3 + len(name)], "labels": labels}


@pytest.fixture(scope="module")
def task(tmp_path_factory):
  folder, rng = tmp_path_factory.mktemp("typing"), np.random.default_rng(0)
  files = {
    name: str(written(folder / f"{name}.jsonl", list(some(rng, count))))
    for name, count in {"train": 96, "dev": 32}.items()
  }
  return with_labels(EntityTyping(**files, text=TEXT, words=24, mention=8))


@pytest.mark.slow
def test_the_engine_trains_it(task):
  losses, found = learned(experiment(task), steps=100)
  assert losses[-1] < losses[0] / 2
  examples = task.engine().records(experiment(task).backbone, "dev").examples
  assert task.labels == ("pilot", "runner", "singer", "woman")
  always = score_file(examples, {example.id: {"pilot", "woman"} for example in examples})
  assert found["f1"] > 0.8 > always["f1"] + 0.1
  assert found["best_threshold_f1"] >= found["f1"]


def test_a_model_of_words_reads_the_marker(task):
  words = experiment(task, entity_vocab_size=0, use_entity_aware_attention=False).backbone
  names = {"input_ids", "attention_mask", "entity_start_positions", "labels"}
  assert task.engine().row_shapes(words).keys() == names
  loss, gradients = loss_and_gradients(task, words, rows=8)
  assert np.isfinite(loss)
  kernel = np.abs(gradients["classifier"]["kernel"])
  assert kernel.shape == (32, 4) and (kernel.max(axis=1) > 0).all()


EXCLUSIVE = dataclasses.replace(TASK, exclusive=True)


def test_exclusive_labels_are_one_number_and_the_likeliest_is_predicted():
  (row,) = rows(example(labels=("pilot",)), task=EXCLUSIVE)
  assert row.labels == 2 and row.labels.shape == EXCLUSIVE.label_shape(EXCLUSIVE.sizes) == ()
  assert rows(example(labels=None), task=EXCLUSIVE)[0].labels is None
  logits = np.array([-3.0, -1.0, -2.0])  # none above the threshold
  (types,) = EXCLUSIVE.decode([example()], [row], {"logits": [logits]})
  (span,) = types
  expected = np.exp(logits) / np.exp(logits).sum()
  assert span.label == "person" and span.score == pytest.approx(expected[1])
  assert list(TASK.decode([example()], [row], {"logits": [logits]})[0]) == []


def test_exclusive_types_are_scored_without_a_threshold():
  logits = np.array([-3.0, -1.0, -2.0])
  for task, has in ((TASK, True), (EXCLUSIVE, False)):
    (row,) = rows(example(), task=task)
    found = task.evaluate([example()], task.decode([example()], [row], {"logits": [logits]}))
    assert ("best_threshold" in found.scores) == has


@pytest.mark.parametrize("labels", [(), ("event", "pilot")])
def test_exclusive_labels_are_one_for_each_mention(labels):
  faults = Faults(skip=True)
  assert checked(EXCLUSIVE, [example(labels=labels)], faults) == []
  assert "expected one, as `exclusive` says" in str(faults.found[0])
