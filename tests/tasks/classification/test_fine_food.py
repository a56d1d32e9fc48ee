"""Real reviews with users and products, of which few come again."""

import dataclasses

import pytest
from marked_tasks import experiment, learned, with_labels

from luke_jax.formats.files import Faults
from luke_jax.heads.attributes import Attributes
from luke_jax.tasks.classification.files import read
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.training.optimizer import Optimizer

pytestmark = pytest.mark.real_data
NAMES = ("user", "product")


@pytest.mark.filterwarnings("ignore:.* texts are longer than their rows")
def test_reviews_are_read_whole_and_a_model_takes_a_few_steps(real_data, tmp_path):
  folder = real_data / "siblings/reviews/fine_food_1k"
  found = {
    split: read(folder / f"finefood.{split}.ss", Faults(), attributes=NAMES)
    for split in ("train", "dev", "test")
  }
  assert [len(found[split]) for split in ("train", "dev", "test")] == [700, 150, 150]
  everywhere = [example for split in found.values() for example in split]
  assert [len({x.attributes[i] for x in everywhere}) for i in (0, 1)] == [708, 868]
  assert {x.labels for x in everywhere} == {(str(rating),) for rating in range(1, 6)}
  assert not any("<sssss>" in x.text or x.text != x.text.lower() for x in everywhere)
  task = with_labels(
    TextClassification(
      train=str(folder / "finefood.train.ss"),
      dev=str(folder / "finefood.dev.ss"),
      text=str(real_data / "tokenizers/roberta"),
      words=48,
      keep=(12, 34),
      attributes=Attributes(NAMES, layers=1),
    )
  )
  small = dataclasses.replace(
    experiment(task, num_hidden_layers=1, hidden_size=16), optimizer=Optimizer(learning_rate=3e-3)
  )
  with pytest.warns(match=r"^(user|product): \d+ not seen in training") as told:
    losses, scores = learned(small, 20)
  assert sum("not seen in training" in str(x.message) for x in told) == 2
  assert losses[-1] < losses[0] and 0 < scores["accuracy"] < 1 and scores["rmse"] > 0
