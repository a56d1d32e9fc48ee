import dataclasses
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.inference.batches import CompiledShapes, batches, compiled_shapes, tokens
from luke_jax.systems.luke import SIZES
from luke_jax.tasks.ner.task import NamedEntities
from luke_jax.text import Row
from luke_jax.text.rows import Sizes

TASK = NamedEntities(words=512, entities=64).sizes
ASKED = st.builds(Sizes, st.sampled_from([32, 64, 512]), st.sampled_from([1, 16, 64]), st.just(30))
ROOMY = Sizes(512, 64, 30)
LENGTHS = st.lists(st.tuples(st.integers(1, 512), st.integers(1, 64)), max_size=60)


def rows(lengths):
  return [
    Row(0, np.zeros(words, np.int32), np.zeros(entities, np.int32), np.zeros((entities, 2)))
    for words, entities in lengths
  ]


def shapes(made):
  return {(batch.size, batch.height) for batch in made}


def padded(made):
  return sum(batch.height * tokens(batch.size) for batch in made)


@given(LENGTHS, st.integers(64, 4096), st.sampled_from([0, 1000, 10**9]))
def test_every_row_is_in_one_batch_that_holds_it(lengths, limit, worth):
  made = list(batches(rows(lengths), TASK, limit, CompiledShapes(worth)))
  assert sorted(i for batch in made for i in batch.rows) == list(range(len(lengths)))
  for batch in made:
    assert len(batch.rows) <= batch.height
    assert all(lengths[i][0] <= batch.size.words <= 512 for i in batch.rows)
    assert all(lengths[i][1] <= batch.size.entities <= 64 for i in batch.rows)
    assert batch.height == 1 or batch.height * tokens(batch.size) <= limit


def test_candidates_that_are_no_tokens_make_no_shapes():
  lengths = [(words, entities) for words in (61, 62, 64) for entities in (1, 9, 64)]
  made = list(batches(rows(lengths), TASK, 4096, CompiledShapes(0), entity_tokens=False))
  assert shapes(made) == {(Sizes(64, 0, TASK.mention), 16)}


def test_rows_are_split_into_batches_that_are_compiled_rather_than_padded():
  compiled = CompiledShapes(10**9)
  assert heights_of(5, compiled) == [8]  # while nothing is, a program is dearer
  for number in (1, 4):
    with compiled.exact():
      assert heights_of(number, compiled) == [number]
  assert heights_of(5, compiled) == [4, 1]
  assert heights_of(6, compiled) == [4, 4]
  assert compiled.worth == 10**9


def heights_of(number, compiled):
  return [batch.height for batch in batches(rows([(56, 1)] * number), TASK, 1024, compiled)]


@given(st.lists(LENGTHS, max_size=5), st.integers(0, 20_000))
def test_padding_costs_no_more_than_the_programs_that_would_save_it(chunks, worth):
  shared = CompiledShapes(worth)
  exact = [x for chunk in chunks for x in batches(rows(chunk), TASK, 2048, CompiledShapes(0))]
  made = [x for chunk in chunks for x in batches(rows(chunk), TASK, 2048, shared)]
  bare = sum(len(batch.rows) * tokens(batch.size) for batch in exact)
  wanted = len(shared.wasted)  # shapes that would have saved something
  assert padded(made) <= 2 * (bare + worth * wanted)  # twice, for heights are powers of two


@given(st.lists(st.tuples(ASKED, st.integers(1, 100)), max_size=40), st.integers(0, 20_000))
def test_another_size_is_compiled_when_it_saves_more_than_it_costs(asked, worth):
  compiled, wasted = CompiledShapes(worth), Counter()
  for size, number in asked:
    fit = [x for x in compiled.sizes if x.words >= size.words and x.entities >= size.entities]
    fit = fit or [ROOMY]
    found = compiled.size(size, ROOMY, number)
    extra = number * (min(map(tokens, fit)) - tokens(size))
    assert found in (fit if wasted[size] + extra <= worth else [size])
    wasted[size] += number * (tokens(found) - tokens(size))
    assert wasted[size] <= worth


def test_few_rows_of_a_small_model_share_a_program_for_long():
  chunks = np.random.default_rng(0).integers(1, 65, (20, 50, 2))
  compiled = CompiledShapes(10**9)
  made = [x for chunk in chunks for x in batches(rows(chunk.tolist()), TASK, 4096, compiled)]
  assert len(shapes(made)) <= 2


@pytest.mark.parametrize("chunks", [1, 40])
def test_many_rows_have_their_own(chunks):
  compiled = CompiledShapes(10_000)
  lengths = [[(20, 1)] * (2000 // chunks) + [(500, 64)]] * chunks
  made = [x for chunk in lengths for x in batches(rows(chunk), TASK, 4096, compiled)]
  short = sum(len(batch.rows) for batch in made if batch.size.words < 500)
  assert short > 1900


def test_a_program_costs_as_much_padding_as_all_layers_run():
  deep, shallow = (
    dataclasses.replace(SIZES["luke-base"], num_hidden_layers=layers) for layers in (12, 1)
  )
  assert compiled_shapes(deep).worth == pytest.approx(compiled_shapes(shallow).worth / 12)
