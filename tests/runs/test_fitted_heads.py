"""Heads that begin in closed form: their arithmetic, what they read, and when they are chosen."""

import dataclasses
import os
import types
from pathlib import Path

import numpy as np
import pytest
from marked_tasks import written
from sample_models import save_roberta, save_start
from tiny import same_params

from luke_jax.convert.card import pools_means
from luke_jax.errors import InputError
from luke_jax.inference.batches import shapes_of
from luke_jax.runs.outline import outline
from luke_jax.runs.recipes import task_experiment
from luke_jax.runs.rules import FEW_OF_A_LABEL
from luke_jax.runs.starts import (
  PENALTIES,
  SPREAD,
  head_for,
  ridge,
  start_model,
  start_params,
  states,
  with_fitted_head,
  with_shares,
)

RNG = np.random.default_rng(0)


def left_out_error(x, y, penalty, biased):
  """Returns the squared error on examples that are left out, each with a regression of its own."""
  total = 0.0
  for i in range(len(x)):
    rest = np.delete(np.arange(len(x)), i)
    # The mean of all stays when one is left out only as an intercept without a penalty.
    a = np.c_[x[rest], np.ones(len(rest))] if biased else x[rest]
    b = np.r_[x[i], 1] if biased else x[i]
    weight = penalty * np.eye(a.shape[1])
    if biased:
      weight[-1, -1] = 0
    total += np.square(y[i] - b @ np.linalg.solve(a.T @ a + weight, a.T @ y[rest])).sum()
  return total


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("width", [4, 30])
def test_a_ridge_has_the_penalty_that_is_best_for_examples_left_out(biased, width):
  x = RNG.normal(1, 1, (12, width))
  y = x[:, :2] + RNG.normal(0, 1, (12, 2))
  kernel, bias = ridge(x, y, biased=biased)
  a = x - x.mean(0) if biased else x
  mean_square = np.square(np.linalg.svd(a, compute_uv=False)).mean()
  penalties = PENALTIES * mean_square
  best = min(penalties, key=lambda penalty: left_out_error(x, y, penalty, biased))
  centred = y - y.mean(0) if biased else y
  expected = np.linalg.solve(a.T @ a + best * np.eye(width), a.T @ centred)
  np.testing.assert_allclose(kernel, expected, atol=1e-8)
  np.testing.assert_allclose(bias, y.mean(0) - x.mean(0) @ kernel if biased else 0, atol=1e-8)


def test_the_first_logits_of_labels_are_small_and_around_their_shares():
  x = RNG.normal(0, 1, (40, 8))
  classes = (x[:, 0] > 0.7).astype(int)
  share = classes.mean()
  kernel, bias = head_for(x, classes, 2)
  logits = x @ kernel + bias
  flatter = np.sqrt([1 - share, share])
  np.testing.assert_allclose(logits.mean(0), np.log(flatter / flatter.sum()), atol=1e-6)
  assert 0.4 * SPREAD < (logits - logits.mean(0)).std() < SPREAD
  # Rare labels are told as clearly as others, so that training need not raise them first.
  many = RNG.normal(0, 1, (900, 8))
  three = np.where(many[:, 0] > 2, 2, many[:, 1] > 0).astype(int)
  kernel, bias = head_for(many, three, 3)
  spreads = (many @ kernel).std(0)
  assert spreads.max() < 3 * spreads.min() and np.bincount(three)[2] < 40
  alike, _ = head_for(9 + 1e-4 * x, classes, 2)  # as of a random encoder
  assert np.abs(alike).max() < 0.1
  kernel, bias = head_for(x, classes[:, None], 1)
  assert (x @ kernel + bias).mean() == pytest.approx(np.log(share / (1 - share)))
  numbers = (3 * x[:, 0] + 5).astype(np.float32)
  kernel, bias = head_for(x, numbers, 1)
  np.testing.assert_allclose((x @ kernel + bias)[:, 0], numbers, atol=0.2)
  x = np.c_[
    x, np.full(40, 9.0)
  ]  # states have a direction in common, which takes the place of a bias
  kernel, bias = head_for(x, classes, 2, biased=False)
  assert not bias.any() and ((x @ kernel).argmax(1) == classes).mean() > 0.8


@pytest.fixture(scope="module")
def start(tmp_path_factory):
  return Path(save_start(tmp_path_factory.mktemp("start") / "luke"))


def experiment(kind, values, start, folder, *assignments):
  train = written(folder / f"{len(values)}.jsonl", values)
  return task_experiment(kind, (train, train), start, assignments)


def example(i):
  return {"text": f"{i} Ana saw Bo .", "label": "ab"[i % 2]}


def pair(i):
  return {**example(i), "head": [2, 5] if i < 10 else [3, 6], "tail": [10, 12]}


@pytest.mark.parametrize(("kind", "make"), [("classification", example), ("relations", pair)])
def test_a_run_starts_from_a_head_that_is_fitted_to_its_states(start, tmp_path, kind, make):
  chosen = experiment(kind, [make(i) for i in range(8)], start, tmp_path)
  task, rows = chosen.task, chosen.engine.records(chosen.backbone, "train").rows
  params = start_params(start, chosen)
  plain = start_model(start, task, task.entity_table)
  labels = np.array([row.labels for row in rows])
  biased = kind == "classification"  # LUKE's head of pairs has none
  kernel, _ = head_for(np.stack(states(plain, task, rows)), labels, 2, biased=biased)
  np.testing.assert_allclose(params["classifier"]["kernel"], kernel, atol=1e-5)
  without = dataclasses.replace(task, fit_head=False)
  other = start_params(start, dataclasses.replace(chosen, task=without))
  assert not np.allclose(other["classifier"]["kernel"], kernel)
  assert "head      begins as a ridge regression" in outline(chosen)


def test_a_fitted_head_has_the_same_bits_whatever_the_process_read_before(start, tmp_path):
  """Batches of the same rows are padded alike, though programs of longer ones are compiled."""
  longer = [{**x, "text": x["text"] + " in the of" * 100} for x in map(example, range(3))]
  chosen = experiment("classification", [example(i) for i in range(9)], start, tmp_path)
  shapes_of.cache_clear()
  alone = start_params(start, chosen)
  shapes_of.cache_clear()
  start_params(start, experiment("classification", longer, start, tmp_path))
  assert same_params(start_params(start, chosen), alone)


def test_tags_start_from_a_head_that_is_fitted_to_the_states_of_words(start, tmp_path):
  values = [
    {"text": f"{x} saw {y} sail {i} .", "spans": [[0, len(x), "PER"]]}
    for i, (x, y) in enumerate([("Ana", "Bo"), ("Bo", "Carl"), ("Dora", "Ana"), ("Carl", "Bo")])
  ]
  chosen = experiment("ner", values, start, tmp_path, "task.form=tags", "task.crf=true")
  task, rows = chosen.task, chosen.engine.records(chosen.backbone, "train").rows
  assert task.fit_head and chosen.optimizer.learning_rate == 3e-4
  found = start_params(start, chosen)["classifier"]
  plain = start_model(start, task, task.entity_table)
  pairs = [
    (x[: len(row.labels)][row.labels >= 0], row.labels[row.labels >= 0])
    for x, row in zip(states(plain, task, rows), rows, strict=True)
  ]
  read, tags = (np.concatenate(x) for x in zip(*pairs, strict=True))
  assert len(read) == 4 * 6  # a state for each word, of pieces none
  kernel, bias = head_for(read.astype(np.float64), tags, len(task.labels))
  np.testing.assert_allclose(found["kernel"], kernel, atol=1e-5)
  np.testing.assert_allclose(found["bias"], bias, atol=1e-5)
  trained = dataclasses.replace(plain, params={**plain.params, "classifier": found})
  assert with_fitted_head(trained, task, rows) is trained
  many = written(tmp_path / "many.jsonl", [{**values[0], "text": f"Ana {x}"} for x in range(40)])
  held = task_experiment("ner", (many, None), start, ["task.form=tags"])
  assert held.task.fit_head and held.task.held_out == 0.1  # a sentence has many words to learn from


def test_few_examples_a_label_have_a_fitted_head_and_fewer_epochs(start, tmp_path):
  few, more = (
    experiment("classification", [example(i) for i in range(number)], start, tmp_path)
    for number in (2 * FEW_OF_A_LABEL, 2 * FEW_OF_A_LABEL + 2)
  )
  assert few.task.fit_head and not more.task.fit_head
  assert few.run.epochs == pytest.approx(more.run.epochs / 2, abs=0.3)
  values = [example(i) for i in range(8)]
  told = experiment("classification", values, start, tmp_path, "task.fit_head=false")
  assert not told.task.fit_head and told.run.epochs == 20


def test_few_examples_all_train_unless_one_asks_for_scores(start, tmp_path):
  train = written(tmp_path / "train.jsonl", [example(i) for i in range(40)])
  alone = task_experiment("classification", (train, None), start, [])
  assert not alone.engine.scored and alone.run.best_metric is None
  assert "none, so that all examples train" in outline(alone) and "best checkpoint" not in outline(
    alone
  )
  told = task_experiment("classification", (train, None), start, ["task.held_out=0.2"])
  assert told.task.held_out == 0.2 and told.run.best_metric == "accuracy"
  assert "20% held out" in outline(told)


def test_a_head_of_words_is_not_fitted(start, tmp_path):
  values = [{"text": f"{i} Ana saw Bo .", "spans": [[2, 5, "PER"]]} for i in range(4)]
  told = experiment("ner", values, start, tmp_path, "task.fit_head=true")
  with pytest.raises(InputError, match=r"task.fit_head: true; expected false for the span head"):
    start_params(start, told)


def test_spans_without_entity_tokens_begin_from_the_shares_of_labels(tmp_path):
  values = [{"text": f"Ana saw Bo {i} .", "spans": [[0, 3, "PER"]]} for i in range(40)]
  start = save_roberta(tmp_path / "roberta")
  chosen = experiment("ner", values, start, tmp_path, "task.form=spans", "task.span_words=2")
  assert chosen.run.epochs == pytest.approx(20 * (200 / 40) ** 0.4, abs=0.05)  # twice the others
  head = start_params(start, chosen)["classifier"]
  shares = np.exp(head["bias"])
  assert shares.sum() == pytest.approx(1, abs=1e-5)
  rows = chosen.engine.records(chosen.backbone, "train").rows
  named = np.mean(np.concatenate([row.labels for row in rows]) == chosen.task.labels.index("PER"))
  assert 0 < named < 0.2 and shares[1] == pytest.approx(named, rel=0.05)
  trained = types.SimpleNamespace(params={"classifier": head})
  assert with_shares(trained, rows) is trained


def test_a_sentence_encoder_is_known_by_its_pooling_or_its_card(tmp_path):
  assert not pools_means(tmp_path)
  (tmp_path / "README.md").write_text("---\nlibrary_name: transformers\n---\n")
  assert not pools_means(tmp_path)
  (tmp_path / "README.md").write_text(
    "---\nlanguage: en\nlibrary_name: sentence-transformers\n---\n"
  )
  assert pools_means(tmp_path)
  (tmp_path / "1_Pooling").mkdir()
  (tmp_path / "1_Pooling/config.json").write_text('{"pooling_mode_cls_token": true}')
  assert not pools_means(tmp_path)
  (tmp_path / "1_Pooling/config.json").write_text('{"pooling_mode_mean_tokens": true}')
  assert pools_means(tmp_path)
  (tmp_path / "1_Pooling/config.json").unlink()
  os.mkfifo(tmp_path / "1_Pooling/config.json")
  with pytest.raises(InputError, match="not a regular file"):
    pools_means(tmp_path)
