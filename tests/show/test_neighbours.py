import copy

import numpy as np
import pytest
from tiny import tiny_model

from luke_jax.errors import InputError
from luke_jax.show import nearest
from luke_jax.show.neighbours import neighbours


@pytest.fixture(scope="module")
def model():
  """Los Angeles and Tokyo point the same way, Beyoncé the other."""
  made = tiny_model()
  params = copy.deepcopy(made.params)
  table = params["luke"]["entity_embeddings"]["entity"]["embedding"]
  rows = np.zeros_like(table)
  rows[4, :2], rows[5, :2], rows[6, :2] = (1, 0), (-2, 0), (3, 4)
  params["luke"]["entity_embeddings"]["entity"]["embedding"] = rows
  return type(made)(made.network, params, (), made.tokenizer, made.processor)


def test_by_hand(model):
  (found,) = neighbours(model, ["Los Angeles"], 5)
  assert [title for title, _ in found] == ["Tokyo", "Beyoncé"]
  assert [cosine for _, cosine in found] == pytest.approx([0.6, -1.0])
  assert neighbours(model, ["Tokyo"], 1)[0][0][0] == "Los Angeles"


def test_the_picture_tells_them(model, read):
  told = read(nearest(model, ["Los Angeles", "Beyoncé"]).page).text
  assert "Tokyo0.600" in told and "-1.000" in told
  assert read(nearest(model, []).html)


@pytest.mark.parametrize(
  ("titles", "count", "fault"),
  [
    (["Nara"], 5, "title 'Nara': not in the model's vocabulary"),
    ("Tokyo", 5, "expected a list of titles"),
    (["Tokyo"], 0, "count: 0"),
  ],
)
def test_what_is_not_there_is_refused(model, titles, count, fault):
  with pytest.raises(InputError) as told:
    nearest(model, titles, count=count)
  assert fault in str(told.value)


def test_a_model_without_titles_is_refused():
  with pytest.raises(InputError, match="no titles of entities"):
    nearest(tiny_model(text=False), ["Tokyo"])
