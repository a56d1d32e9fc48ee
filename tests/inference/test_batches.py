import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.inference.batches import batches
from luke_jax.tasks.features import Features
from luke_jax.tasks.typing.task import EntityTyping


def row(words, entities):
  tokens = np.zeros((entities, 2), np.int32)
  return Features(0, np.zeros(words, np.int32), np.zeros(entities, np.int32), tokens)


@given(st.lists(st.integers(1, 512), max_size=60), st.integers(64, 4096))
def test_every_row_is_in_one_batch_that_holds_it(lengths, tokens):
  features = [row(length, 1) for length in lengths]
  made = list(batches(features, EntityTyping(words=512), tokens))
  assert sorted(i for batch in made for i in batch.rows) == list(range(len(lengths)))
  for batch in made:
    assert len(batch.rows) <= batch.height
    assert all(lengths[i] <= batch.size.words <= 512 for i in batch.rows)
    assert batch.height == 1 or batch.height * (batch.size.words + 1) <= tokens


def test_shapes_are_few():
  rng = np.random.default_rng(0)
  features = [row(int(n), 1) for n in rng.integers(1, 512, 2000)]
  made = list(batches(features, EntityTyping(words=512), 4096))
  sizes = {batch.size for batch in made}
  assert len(sizes) <= 16
  assert len({(batch.size, batch.height) for batch in made}) <= 2 * len(sizes)  # and a last one
