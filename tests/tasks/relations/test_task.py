"""From examples to rows, from logits to relations, and a model that learns them."""

import dataclasses
import shutil

import numpy as np
import pytest
from marked_tasks import TEXT, experiment, learned, loss_and_gradients, with_labels, written
from networks import backbone

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.nn.losses import IGNORED
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.relations.files import RelationExample
from luke_jax.tasks.relations.score import read_predictions, score_file
from luke_jax.tasks.relations.task import RelationClassification
from luke_jax.tasks.running import checked, processor_for
from luke_jax.text.rows import padded

NO = "no_relation"
TASK = RelationClassification(text=TEXT, labels=(NO, "born", "left"), words=32, mention=8)


def example(text="Ana saw Bo .", head="Ana", tail="Bo", label="born", id="1"):
  spans = [(text.index(part), text.index(part) + len(part)) for part in (head, tail)]
  return RelationExample(id, f"FILE: line {id}", text, *spans, label)


def rows(*examples, task=TASK, faults=None):
  return task.features(processor_for(task, backbone()), examples, faults)


def marked(row):
  """The row's text, and of each entity its id and its text."""
  decode = processor_for(TASK, backbone()).tokenizer.decode
  entities = zip(row.entity_ids, row.entity_tokens, strict=True)
  return decode(row.input_ids), [(id, decode(row.input_ids[s:e])) for id, (s, e) in entities]


def test_who_predicts_may_have_labels_that_the_model_does_not_know():
  (row,) = rows(example(label="unseen"))
  assert row.labels == IGNORED


def test_head_and_tail_stand_between_their_markers():
  text, entities = marked(*rows(example()))
  assert text == "<s><ent>Ana<ent> saw<ent2> Bo<ent2> .</s>"
  assert entities == [(2, "<ent>Ana<ent>"), (3, "<ent2> Bo<ent2>")]


def test_the_head_is_the_first_entity_wherever_it_stands():
  text, entities = marked(*rows(example(head="Bo", tail="Ana")))
  assert text == "<s><ent2>Ana<ent2> saw<ent> Bo<ent> .</s>"
  assert entities == [(2, "<ent> Bo<ent>"), (3, "<ent2>Ana<ent2>")]


def test_with_prefix_spaces_the_pieces_are_those_of_the_papers_code(tmp_path):
  shutil.copytree(TEXT, tmp_path, dirs_exist_ok=True)
  (tmp_path / "tokenizer_config.json").write_text('{"add_prefix_space": true}')
  (row,) = rows(example(), task=dataclasses.replace(TASK, text=str(tmp_path)))
  tokenizer = processor_for(TASK, backbone()).tokenizer
  ana, saw, bo, stop = (x.ids for x in tokenizer.encode([" Ana", " saw", " Bo", " ."]))
  one, two = tokenizer.special.marker_ids
  pieces = [0, one, *ana, one, *saw, two, *bo, two, *stop, 2]
  assert row.input_ids.tolist() == pieces


def test_the_arrays_of_a_row():
  (row,) = rows(example(label="left"))
  processor = processor_for(TASK, backbone())
  arrays = padded([row], TASK.sizes, 1, processor.entity_vocab.pad_id)
  positions = [[p for p in entity if p >= 0] for entity in arrays["entity_position_ids"][0]]
  assert positions == [list(range(*span)) for span in row.entity_tokens]
  assert row.labels == 2 and row.labels.shape == TASK.label_shape(TASK.sizes) == ()
  encoder = experiment(TASK).backbone
  batch = TASK.engine().rows(encoder, [row, dataclasses.replace(row, labels=None)], [])
  assert batch["labels"].tolist() == [2, -100]
  assert {name: x.shape[1:] for name, x in batch.items()} == {
    name: x.shape for name, x in TASK.engine().row_shapes(encoder).items()
  }


def test_of_a_long_text_the_row_has_what_stands_around_both():
  (row,) = rows(example("one " * 40 + "Ana saw Bo " + "two " * 40))
  text, _ = marked(row)
  assert len(row.input_ids) == 32 and "<ent> Ana<ent> saw<ent2> Bo<ent2>" in text
  assert "one" in text and "two" in text


FAR = example("Ana " + "one " * 40 + "Bo", id="2")
BLANK = dataclasses.replace(example(id="3"), tail=(3, 4))


@pytest.mark.parametrize("bad, told", [(FAR, "its entities span"), (BLANK, "span (3, 4) holds no")])
def test_a_pair_that_no_row_can_hold_is_told_by_its_place(bad, told):
  with pytest.raises(InputError) as raised:
    rows(example(), bad, example(id="4"))
  assert str(raised.value).startswith(f"{bad.place}: {told}")


def test_a_pair_that_no_row_can_hold_is_skipped_counted_and_left_unanswered():
  examples, faults = [example(), FAR, example(id="4")], Faults(skip=True)
  found = rows(*examples, faults=faults)
  assert [row.example for row in found] == [0, 2] and len(faults.found) == 1
  skipping = dataclasses.replace(TASK, skip_bad=True)
  assert [row.example for row in rows(*examples, task=skipping)] == [0, 2]
  predictions = TASK.decode(examples, found, {"logits": np.eye(3)[[1, 2]]})
  assert [x.label for x in predictions] == ["born", "", "left"] and predictions[1].score == 0
  assert TASK.evaluate(examples, predictions).scores["recall"] == 1 / 3


def test_the_likeliest_label_is_predicted():
  """Logits come as an array or row by row, of whatever width."""
  examples = [example(), example(id="2")]
  logits = [np.log([0.2, 0.7, 0.1]), np.log([0.5, 0.3, 0.2, 0.9])]
  found = TASK.decode(examples, rows(*examples), {"logits": logits})
  assert [x.label for x in found] == ["born", NO]
  assert [x.score for x in found] == pytest.approx([0.7, 0.5])
  assert found[0].head == ("Ana", 0, 3) and found[0].tail == ("Bo", 8, 10)
  assert TASK.decode(examples, [], {})[1].label == ""


def test_what_is_written_of_predictions_is_read_again(tmp_path):
  examples = [example(id="a"), example(id="b"), example(id="c", label=NO)]
  found = TASK.decode(examples, rows(*examples[:2]), {"logits": np.eye(3)[[1, 0]]})
  lines = [TASK.to_prediction(*pair) for pair in zip(examples, found, strict=True)]
  path = written(tmp_path / "predictions.jsonl", lines)
  read = read_predictions(path, Faults())
  assert read == {"a": "born", "b": NO, "c": ""}
  assert score_file(examples, read) == TASK.evaluate(examples, found).scores
  assert lines[0]["head"] == [0, 3] and lines[0]["tail"] == [8, 10]


def test_the_label_of_no_relation_comes_first():
  def found(*labels, **fields):
    examples = [example(label=label) for label in labels]
    return RelationClassification(**fields).found_labels(examples)

  assert found("b", NO, "a", "b", None) == (NO, "a", "b")
  assert found("b", "Other", "A") == ("Other", "A", "b")
  assert found("b", "Other", NO) == (NO, "Other", "b")
  assert found("b", "NA", "A", negative="NA") == ("NA", "A", "b")
  assert found("b", "a") == ("a", "b")


def test_examples_are_checked_for_labels():
  assert checked(TASK, [example()], Faults()) == [example()]
  with pytest.raises(InputError, match="FILE: line 1: label: missing"):
    checked(TASK, [example(label=None)], Faults())
  with pytest.raises(InputError, match=r"FILE: line 1: label 'borm': .*perhaps 'born'"):
    checked(TASK, [example(label="borm")], Faults())
  faults = Faults(skip=True)
  assert checked(TASK, [example(label="x"), example(id="2")], faults) == [example(id="2")]
  assert len(faults.found) == 1


def test_settings_are_checked():
  with pytest.raises(InputError, match="negative: 'NA': no label; expected one of no_relation"):
    dataclasses.replace(TASK, negative="NA")
  with pytest.raises(InputError, match="words: 3"):
    RelationClassification(words=3)


def some(rng, count):
  """Who was born in or left where; `saw` tells neither, and the second verb is a distraction."""
  verbs = {"was born in": "born", "left": "left", "saw": NO}
  for _ in range(count):
    name, place = rng.choice(["Ana", "Bo", "Emi"]), rng.choice(["Oslo", "Lima", "Accra"])
    verb = rng.choice(list(verbs))
    text = f"{name} {verb} {place} ."
    spans = {"head": [0, len(name)], "tail": [len(text) - 2 - len(place), len(text) - 2]}
    yield {"text": text, "label": verbs[verb], **spans}


@pytest.fixture(scope="module")
def task(tmp_path_factory):
  folder, rng = tmp_path_factory.mktemp("relations"), np.random.default_rng(0)
  files = {
    name: str(written(folder / f"{name}.jsonl", list(some(rng, count))))
    for name, count in {"train": 96, "dev": 32}.items()
  }
  return with_labels(RelationClassification(**files, text=TEXT, words=24, mention=8))


@pytest.mark.slow
def test_the_engine_trains_it(task):
  losses, found = learned(experiment(task), steps=60)
  assert losses[-1] < losses[0] / 2
  examples = task.engine().records(experiment(task).backbone, "dev").examples
  majority = max(sum(x.label == label for x in examples) for label in task.labels) / len(examples)
  assert task.labels == (NO, "born", "left")
  assert found["f1"] > 0.8 and found["accuracy"] > majority + 0.2


def test_a_model_of_words_reads_the_markers(task):
  words = experiment(task, entity_vocab_size=0, use_entity_aware_attention=False).backbone
  names = {"input_ids", "attention_mask", "entity_start_positions", "labels"}
  assert task.engine().row_shapes(words).keys() == names
  loss, gradients = loss_and_gradients(task, words, rows=8)
  assert np.isfinite(loss)
  kernel = np.abs(gradients["classifier"]["kernel"])  # it reads the states of head and of tail
  assert kernel.shape == (64, 3) and (kernel.max(axis=1) > 0).all()


def test_an_evaluation_is_of_the_tasks_own_labels():
  examples = [example(label="born")]
  found = TASK.evaluate(examples, TASK.decode(examples, rows(*examples), {"logits": [[0, 1, 0]]}))
  assert isinstance(found, Evaluation) and set(found.labels) == set(TASK.labels)
  assert next(iter(found.scores)) == "f1" and found.scores["f1"] == 1


def test_the_classifier_has_a_bias_if_it_is_asked_for():
  of_luke = experiment(TASK).backbone
  assert not TASK.network(of_luke).head.bias
  assert dataclasses.replace(TASK, bias=True).network(of_luke).head.bias
