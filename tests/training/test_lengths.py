"""Runs whose rows are padded to several lengths."""

import dataclasses

import jax
import numpy as np
import pytest
from marked_tasks import TEXT, experiment, with_labels, written
from shared_programs import SharedProgram
from tiny_runs import arrays, left_at, same

from luke_jax.errors import InputError
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.tasks.running import Running
from luke_jax.training import loop as loops
from luke_jax.training import scoring
from luke_jax.training.export import read_run
from luke_jax.training.loop import train
from luke_jax.training.mesh import make_mesh
from luke_jax.training.task import Params

STEPS = 6


pytestmark = pytest.mark.usefixtures("one_device")


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
  """A run over texts of five to twenty words, whose dropout is off."""
  folder = tmp_path_factory.mktemp("texts")
  values = [
    {"text": " ".join(["one two three four five"] * (1 + number % 4)), "label": "ab"[number % 2]}
    for number in range(48)
  ]
  files = {split: str(written(folder / f"{split}.jsonl", values)) for split in ("train", "dev")}
  task = with_labels(TextClassification(text=TEXT, words=64, **files))
  off = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "classifier_dropout": 0.0}
  made = experiment(task, num_hidden_layers=1, **off)
  return dataclasses.replace(
    made,
    data=dataclasses.replace(made.data, lengths=3),
    run=dataclasses.replace(made.run, steps=STEPS, log_every=1),
  )


def test_padding_that_is_cut_off_changes_no_number(chosen):
  program = SharedProgram(chosen, make_mesh(chosen.mesh, jax.devices()[:1]), STEPS)
  batches = program.training_batches(chosen.engine.records(program.backbone, "train"))
  assert len(batches.rooms) == 3 and len({*map(batches.room, range(STEPS))}) > 1
  number = min(range(STEPS), key=batches.room)
  after: list[Params] = []
  for own in (program, program.padded_to(batches.room(number))):
    placed = own.placed(batches(number))
    state, metrics = own.step(program.fresh_state(), placed)
    after.append({"trained": state["trained"], "loss": metrics["loss"]})
    widths = {name: x.shape[2] for name, x in placed.items() if x.ndim > 2}
  assert widths["input_ids"] == widths["attention_mask"] == batches.room(number) < 64
  expected, found = map(arrays, after)
  for name in expected:
    np.testing.assert_allclose(found[name], expected[name], atol=2e-6, err_msg=name)


def test_dev_has_the_same_scores_in_batches_of_like_length(chosen):
  program = SharedProgram(chosen, make_mesh(chosen.mesh, jax.devices()[:1]), STEPS)
  seen: list[Params] = []

  def score(self, records, predictions):
    seen.append(predictions)
    return {"n": len(records)}

  state = program.fresh_state()
  with pytest.MonkeyPatch.context() as patch:
    patch.setattr(Running, "score", score)
    for lengths in (3, 1):
      data = dataclasses.replace(chosen.data, lengths=lengths, evaluation_batch_size=10)
      own = dataclasses.replace(program, experiment=dataclasses.replace(chosen, data=data))
      assert scoring.evaluate(own, state, "dev") == {"n": 48}
      assert len(own._padded) == (3 if lengths == 3 else 0)
  np.testing.assert_allclose(seen[0]["logits"], seen[1]["logits"], atol=1e-5)


@pytest.mark.slow
def test_stopped_and_resumed_is_the_same_to_the_bit(chosen, tmp_path):
  train(chosen, tmp_path / "whole")
  with pytest.MonkeyPatch.context() as patch:
    patch.setattr(loops.Watch, "due", left_at(2))
    assert train(chosen, tmp_path / "stopped")["step"] == 2
  train(chosen, tmp_path / "stopped")
  assert same(read_run(tmp_path / "whole")[2], read_run(tmp_path / "stopped")[2])


def test_a_task_without_lengths_says_so():
  from tiny_runs import experiment, program

  made = program(experiment(data={"lengths": 2}))
  with pytest.raises(InputError, match=r"data.lengths: 2; expected 1 for SyntheticPretraining"):
    made.training_batches(made.experiment.task.records(made.backbone, "train"))
