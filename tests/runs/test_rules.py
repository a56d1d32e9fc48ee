"""Each rule sets what it says, and what a user has set stays."""

import dataclasses

import numpy as np
import pytest

from luke_jax.models.table import SIZES
from luke_jax.runs import rules
from luke_jax.runs.recipes import plain_experiment
from luke_jax.runs.rules import Facts

LENGTHS = np.full(200, 20)


def facts(task="typing", lengths=LENGTHS, size="luke-base", given=(), fits="rows", **settings):
  made = plain_experiment(task)
  own = dataclasses.replace(made.task, **{"labels": ("a", "b"), "train": "t", **settings})
  return Facts(dataclasses.replace(made, task=own, model=SIZES[size]), given, lengths, fits)


def optimized(base, **changes):
  optimizer = dataclasses.replace(base.experiment.optimizer, **changes)
  return base._replace(experiment=dataclasses.replace(base.experiment, optimizer=optimizer))


def running(base, **changes):
  run = dataclasses.replace(base.experiment.run, **changes)
  return base._replace(experiment=dataclasses.replace(base.experiment, run=run))


def test_a_task_says_what_suits_files():
  assert rules.task_settings(facts("tagging", labels=())) == {"task.crf": True}
  means = facts("classification")._replace(pools_means=True)
  assert rules.task_settings(means) == {"task.pooling": "mean"}
  given = means._replace(given=["task.attributes.names"])
  assert rules.task_settings(given) == rules.task_settings(facts()) == {}


@pytest.mark.parametrize(
  ("fits", "rows", "fitted"),
  [("rows", 64, True), ("rows", 65, False), ("words", 900, True), ("", 9, False)],
)
def test_heads_of_few_texts_and_of_words_are_fitted(fits, rows, fitted):
  asked = facts(fits=fits, lengths=LENGTHS[:1].repeat(rows))
  assert rules.fitted_head(asked) == {"task.fit_head": fitted}


def test_a_tenth_is_held_out_unless_there_is_dev_or_little():
  assert rules.held_out(facts()) == {"task.held_out": 0.1}
  assert rules.held_out(facts(dev="d")) == rules.held_out(facts(fit_head=True))
  assert rules.held_out(facts(dev="d")) == {"task.held_out": 0.0}
  words = facts("tagging", labels=("O", "B-a"), fit_head=True)
  assert rules.held_out(words) == {"task.held_out": 0.1}


@pytest.mark.parametrize(("longest", "width"), [(20, 64), (64, 64), (65, 128), (250, 256)])
def test_rows_are_as_long_as_the_longest_text(longest, width):
  assert rules.words(facts(lengths=np.array([3, longest]))) == {"task.words": width}


def test_the_rate_goes_by_the_width_the_head_and_the_adapter():
  def rate(*args, **named):
    return rules.rate(facts(*args, **named))["optimizer.learning_rate"]

  assert [rate(size=x) for x in ("tiny", "luke-base", "luke-large")] == [5e-4, 5e-5, 2e-5]
  assert rate(fit_head=True, size="tiny") == 1e-4
  tags = {"labels": ("O", "B-a"), "fit_head": True}
  assert rate("tagging", size="tiny", **tags) == 3e-4
  assert rules.rate(optimized(facts(), adapter=4)) == {"optimizer.learning_rate": 1e-3}
  many = LENGTHS[:1].repeat(rules.MANY_ROWS)
  assert rate("linking", many, labels=()) == pytest.approx(2e-5)


def test_epochs_fall_with_the_number_of_rows():
  epochs = {
    n: rules.epochs(facts(lengths=LENGTHS[:1].repeat(n)))["run.epochs"]
    for n in (20, 100, 200, 1000, 10**6)
  }
  assert epochs == {20: 20, 100: 13.2, 200: 10, 1000: 5.3, 10**6: 2}
  assert rules.epochs(facts(fit_head=True)) == {"run.epochs": 5.0}
  assert rules.epochs(running(facts(), steps=9, epochs=None)) == {}


def test_batches_updates_and_the_schedule():
  sizes = rules.batches(facts())
  assert sizes == {"data.batch_size": 16, "data.evaluation_batch_size": 32}
  assert rules.updates(facts()) == {
    "optimizer.bias_correction": True,
    "optimizer.max_gradient_norm": 1.0,
  }
  assert rules.warm_up(facts())["schedule.warmup_ratio"] == 0.1


def test_lengths_pay_for_their_programs():
  mixed = np.array([20] * 900 + [200] * 100)
  assert rules.row_lengths(facts(lengths=mixed, words=256))["data.lengths"] > 1
  assert rules.row_lengths(facts(words=256)) == {"data.lengths": 1}
  names = facts("ner", lengths=mixed, words=256)  # whose candidates are entity tokens
  assert rules.row_lengths(names) == {"data.lengths": 1}


def test_without_dev_no_score_chooses():
  assert rules.best_checkpoint(facts()) == {"run.best_metric": None}
  assert rules.best_checkpoint(facts(held_out=0.1)) == rules.scores(facts()) == {}


def test_what_is_given_stays_and_the_rest_has_reasons():
  asked = facts(given={"optimizer.learning_rate", "run.epochs"})
  made, reasons = rules.decided(asked, (rules.rate, rules.epochs, rules.batches))
  assert made.optimizer == asked.experiment.optimizer and made.run == asked.experiment.run
  assert [x.name for x in reasons] == ["data.batch_size", "data.evaluation_batch_size"]
  assert reasons[0].value == made.data.batch_size and reasons[0].why.endswith(".")


def test_the_table_of_the_docs_is_that_of_the_rules():
  from pathlib import Path

  page = (Path(__file__).parents[2] / "docs/training.md").read_text(encoding="utf-8")
  assert "\n".join(rules.table()) in page
