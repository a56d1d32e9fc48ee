"""From texts to rows, from logits to labels and numbers, and models that learn them."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from marked_tasks import TEXT, experiment, learned, random_bert, with_labels, written
from networks import backbone
from tiny import TEXTS

import luke_jax
from luke_jax.cli import main
from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.heads.attributes import Attributes
from luke_jax.heads.labels import TextHead
from luke_jax.inference.settings import settings_of, task_with
from luke_jax.models.system import States, Tables
from luke_jax.nn.layers import Numerics
from luke_jax.tasks.classification.files import TextExample
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.tasks.predictions import Number
from luke_jax.tasks.running import checked, processor_for
from luke_jax.text import TextInput
from luke_jax.training.optimizer import Optimizer

TASK = TextClassification(text=TEXT, labels=("a", "b", "c"), words=16)
LONG = "one two three four five six seven eight nine ten eleven twelve"


def example(text="Ana saw Bo .", *labels, pair=None):
  return TextExample("1", "FILE: line 1", text, pair, labels or None)


def processor(**settings):
  return processor_for(dataclasses.replace(TASK, **settings), backbone())


def rows(*examples, **settings):
  task = dataclasses.replace(TASK, **settings)
  return task.features(processor_for(task, backbone()), examples)


def decoded(row):
  return processor().tokenizer.decode(row.input_ids)


def test_texts_and_pairs_stand_between_special_tokens():
  one, two = rows(example(), example(pair="Bo"))
  assert decoded(one) == "<s>Ana saw Bo .</s>"
  assert decoded(two) == "<s>Ana saw Bo .</s></s>Bo</s>"
  assert len(one.entity_ids) == 0 and two.text_starts[1] == len(one.input_ids) + 1


def test_labels_are_those_of_the_target():
  assert rows(example("x", "b"))[0].labels == 1
  assert rows(example("x", "c", "a"), target="labels")[0].labels.tolist() == [1, 0, 1]
  number = rows(example("x", "2.5"), target="number", labels=("number",))[0].labels
  assert number == 2.5 and number.dtype == np.float32
  # Whoever predicts may have answers that the model does not know, or none.
  assert rows(example("x", "d"))[0].labels is rows(example("x"))[0].labels is None
  assert rows(example("x", "much"), target="number", labels=("number",))[0].labels is None


@pytest.mark.parametrize(
  ("keep", "first", "last"), [((), 14, 0), ((4, 10), 4, 10), ((3, 5), 3, 5), ((0, 9), 0, 9)]
)
def test_a_long_text_is_cut_and_counted(keep, first, last):
  pieces = processor(words=200).tokenizer.encode([LONG])[0].ids
  assert len(pieces) > 14
  lost = (
    f"1 of 2 texts are longer than their rows: {len(pieces) - first - last} of their word pieces"
  )
  with pytest.warns(match=lost):
    row, short = rows(example(LONG), example(), keep=keep)
  ids = row.input_ids.tolist()
  assert ids[1:-1] == pieces[:first] + pieces[len(pieces) - last :] if last else pieces[:first]
  assert decoded(short) == "<s>Ana saw Bo .</s>"


def test_of_a_pair_the_longer_text_is_cut():
  with pytest.warns(match="1 of 1 texts"):
    (row,) = rows(example("Ana saw", pair=LONG))
  whole = processor(words=200).tokenizer.encode(["Ana saw", LONG])
  assert len(row.input_ids) == 16
  start = row.text_starts[1]
  assert row.input_ids[1 : start - 2].tolist() == whole[0].ids
  assert row.input_ids[start:-1].tolist() == whole[1].ids[: 15 - start]


def decode(logits, **settings):
  task = dataclasses.replace(TASK, **settings)
  examples = [example()] * len(logits)
  return task.decode(examples, rows(*examples), {"logits": np.array(logits)}), task


def test_logits_become_labels():
  (found,), task = decode([[0.0, 2.0, 1.0]])
  share = np.exp([0, 2, 1]) / np.exp([0, 2, 1]).sum()
  assert found.label == "b" and len(found) == 1
  assert found[0].score == pytest.approx(share[1]) and list(found.scores) == ["a", "b", "c"]
  assert task.to_prediction(example(), found)["label"] == "b"
  (found,), task = decode([[0.1, 2.0, -1.0]], target="labels")
  assert [x.label for x in found] == ["b", "a"]
  assert found.scores["c"] == pytest.approx(1 / (1 + np.e))
  assert task.to_prediction(example(), found)["labels"] == ["b", "a"]
  (none, one), _ = decode([[-1.0] * 3, [-1.0, 9.0, 2.0]], target="labels", threshold=0.9)
  assert (len(none), none.label, [x.label for x in one]) == (0, "", ["b"])
  (found,), task = decode([[2.5]], target="number", labels=("number",))
  assert found == Number(2.5) and task.to_prediction(example(), found) == {"id": "1", "number": 2.5}


@pytest.mark.parametrize(
  ("settings", "expected"),
  [
    ({"keep": (3,)}, "keep: '3'; expected two numbers"),
    ({"keep": (0, 0)}, "keep: '0,0'; expected two numbers"),
    ({"threshold": 1.0}, "threshold: 1.0; expected a probability"),
    ({"target": "number"}, "labels: 3; expected one, as target=number"),
    ({"labels": ("a",)}, "labels: 1; expected two or more, as target=label"),
    ({"positive": "d"}, "positive: 'd': no label; expected one of a, b, c"),
    ({"columns": ("text",)}, "columns: 'text'; expected pairs"),
  ],
)
def test_settings_that_do_not_fit(settings, expected):
  with pytest.raises(InputError, match=expected):
    dataclasses.replace(TASK, **settings)


@pytest.mark.parametrize(
  ("settings", "given", "expected"),
  [
    ({}, example("x", "d"), "label 'd': not among the model's 3; expected one of a, b, c"),
    ({}, example("x"), "label: missing; expected one"),
    ({}, example("x", "a", "b"), "label: a, b; expected one, or task.target=labels"),
    ({"target": "labels"}, example("x"), "labels: missing; expected a list of them"),
    ({"target": "number", "labels": ("number",)}, example("x", "a"), "'a'; expected a number"),
  ],
)
def test_answers_that_cannot_be_trained_on(settings, given, expected):
  with pytest.raises(InputError, match=f"^FILE: line 1: .*{expected}"):
    checked(dataclasses.replace(TASK, **settings), [given], Faults())


def test_labels_of_a_file_are_in_order():
  examples = [example("x", label) for label in ("10", "9", "2")]
  assert TASK.found_labels(examples) == ("2", "9", "10")
  assert TASK.found_labels([example("x", "b"), example("x", "10")]) == ("10", "b")
  with pytest.raises(InputError, match="labels: b; expected two or more, to tell apart"):
    TASK.found_labels([example("x", "b")])


@pytest.mark.parametrize("target", ["label", "labels", "number"])
def test_transformers_config_knows_the_target(target):
  labels = ("number",) if target == "number" else ("a", "b")
  task = TextClassification(target=target, labels=labels)
  entries = settings_of(task)
  config = backbone().config
  assert task_with(TextClassification, entries, labels, config).target == target
  (problem,) = (value for name, value in entries.items() if name == "problem_type")
  assert task_with(TextClassification, {"problem_type": problem}, labels, config).target == target
  assert task_with(TextClassification, {}, ("LABEL_0",), config).target == "number"


def test_a_system_without_a_pooled_state_has_its_first_word():
  words = jnp.asarray(np.random.default_rng(0).normal(size=(2, 3, 4)), jnp.float32)
  head, tables = TextHead(Numerics(), 3), Tables(jnp.zeros((5, 4)))
  params = head.init(jax.random.key(0), States(words), tables)
  found = head.apply(params, States(words), tables)["logits"]
  np.testing.assert_array_equal(
    found, head.apply(params, States(words, pooled=words[:, 0]), tables)["logits"]
  )


def test_mean_pooling_saves_no_pooler_and_predicts_the_same_again(tmp_path):
  task = dataclasses.replace(TASK, pooling="mean")
  model = random_bert(task)
  model.save(tmp_path)
  again = luke_jax.load(tmp_path)
  assert again.kind == "mean_text" and "pooler" not in again.params["bert"]
  texts = ["Ana saw Bo .", "Bo"]
  arrays = again.processor.pad(again.processor.encode([TextInput(text) for text in texts]))
  outputs = again(**arrays)
  mask, states = arrays["attention_mask"], outputs["last_hidden_state"]
  means = [row[own != 0].mean(0) for row, own in zip(states, mask, strict=True)]
  dense = again.params["classifier"]
  np.testing.assert_allclose(
    outputs["logits"], np.stack(means) @ dense["kernel"] + dense["bias"], atol=1e-5
  )
  assert again.predict(texts) == model.predict(texts)
  with pytest.raises(InputError, match="pooling: mean; expected first"):
    dataclasses.replace(task, attributes=Attributes(("user",)))


@pytest.mark.slow
def test_a_model_learns_numbers(tmp_path):
  values = [
    {"text": f"{word} {other}", "label": number - 1}
    for number, word in enumerate(("bad", "fair", "good"))
    for other in ("one", "two", "three", "four")
  ]
  files = {split: str(written(tmp_path / f"{split}.jsonl", values)) for split in ("train", "dev")}
  task = with_labels(TextClassification(text=TEXT, words=16, target="number", **files))
  chosen = experiment(task, num_hidden_layers=1)
  chosen = dataclasses.replace(chosen, optimizer=Optimizer(learning_rate=1e-2))
  losses, scores = learned(chosen, 30)
  assert losses[0] > 0.5 and losses[-1] < 0.2
  assert scores["pearson"] > 0.9 and scores["rmse"] < 0.5


@pytest.mark.filterwarnings("always")
def test_words_that_the_vocabulary_lacks_are_named_with_their_file(tmp_path, capsys):
  lines = [{"text": "was 臺灣", "label": "x"}, {"text": "was 臺", "label": "y"}]
  path = str(written(tmp_path / "zh.jsonl", lines))
  task = with_labels(TextClassification(text=str(TEXTS / "word_piece"), train=path, words=16))
  random_bert(task).save(tmp_path / "model")
  expected = f"{path}: 3 of 5 pieces are [UNK], not in the vocabulary: 臺 (2), 灣 (1)"
  for command in (["evaluate", "classification"], ["predict", "classification"]):
    assert main([*command, str(tmp_path / "model"), path]) == 0
    told = capsys.readouterr().err
    assert told.startswith(f"luke-jax: warning: {expected}\n")
    assert ("no calibration" in told) == (command[0] == "evaluate")
  check = ["data", "check", path, "--task", "classification", "--model", str(tmp_path / "model")]
  assert main(check) == 0
  assert capsys.readouterr().out.startswith(f"{expected}\n")
