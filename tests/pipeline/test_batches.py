"""Batches are made without touching more records than their own."""

import numpy as np

from luke_jax.pipeline.batches import TrainingBatches


class Record(int):
  """A record that nobody may print: of many, the text would be large."""

  def __repr__(self):
    raise AssertionError("a record was spelt out")


def numbers(records, _):
  return {"number": np.array(records)}


def test_no_record_is_spelt_out():
  records = [Record(i) for i in range(20)]
  batches = TrainingBatches(records, numbers, 0, 8, 2, np.arange(4))
  made = list(batches.iterate(0, 5, workers=0))
  assert len(made) == 5 and made[0]["number"].shape == (2, 4)
  epoch = np.concatenate([batch["number"].ravel() for batch in made])[:20]
  assert sorted(epoch) == list(range(20))
