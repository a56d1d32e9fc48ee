"""Random chains of labels, the same for a seed everywhere."""

import numpy as np


def random_chain(seed):
  """Emissions, lengths, labels, transitions, starts and ends of a case."""
  rng = np.random.default_rng(seed)
  labels, length, batch = int(rng.integers(2, 6)), int(rng.integers(1, 9)), 2

  def draw(*shape):
    return (2 * rng.normal(size=shape)).astype(np.float32)

  lengths = rng.integers(1, length + 1, batch)
  lengths[0] = length
  parts = draw(batch, length, labels), lengths, rng.integers(0, labels, (batch, length))
  return (*parts, draw(labels, labels), draw(labels), draw(labels))
