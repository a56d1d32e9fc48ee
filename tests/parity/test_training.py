"""Twenty steps of the installed PyTorch's optimizers and of ours, from fresh random models."""

import pytest
from goldens.make_training import CASES, make_record
from goldens.training.replay import distances, recording, replay

pytestmark = [
  pytest.mark.parity,
  # transformers' own, on import
  pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]


@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("name", CASES)
def test_training(name, seed):
  recorded = recording(make_record(name, seed))
  params, losses = replay(recorded)
  assert losses == pytest.approx(recorded.losses, rel=1e-4)
  for tensor, distance in distances(recorded, params).items():
    assert distance.value <= 1e-4, tensor
    assert distance.change <= 1e-3, tensor
