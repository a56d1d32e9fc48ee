import dataclasses

import jax
import numpy as np
import pytest
from sample_models import without_sums
from tiny import tiny_model

from luke_jax.convert.fine_tuning import fine_tuning_start
from luke_jax.errors import InputError
from luke_jax.model import Model, load
from luke_jax.models.system import Layout
from luke_jax.systems.luke.config import LukeConfig
from luke_jax.text.tokenizer import SPECIAL

MARKERS = {"<ent>": "@", "<ent2>": "#"}


@pytest.fixture
def directory(tmp_path):
  tiny_model().save(tmp_path / "luke")
  return tmp_path / "luke"


def start(directory, **changes):
  asked = {"head": "pair", "labels": ("no", "yes"), "new_words": MARKERS, "entities": "special"}
  return Model.of(fine_tuning_start(directory, **(asked | changes)))


def test_a_start_has_a_new_head_and_the_special_entities_alone(directory):
  pretrained, model = load(directory), start(directory)
  assert model.architecture == "LukeForEntityPairClassification"
  assert model.labels == ("no", "yes") and model.params["classifier"]["kernel"].shape[-1] == 2
  assert dict(model.processor.entity_vocab.ids) == {title: i for i, title in enumerate(SPECIAL)}
  old = pretrained.params["luke"]["entity_embeddings"]["entity"]["embedding"]
  new = model.params["luke"]["entity_embeddings"]["entity"]["embedding"]
  assert model.config.entity_vocab_size == len(new) == 4
  mask = old[pretrained.processor.entity_vocab.mask_id]
  np.testing.assert_array_equal(new[2], mask)
  np.testing.assert_array_equal(new[3], mask)  # the second entity of a pair starts as [MASK] too


def test_new_words_start_from_the_rows_of_others(directory):
  words = {"[PLACEHOLDER]": "#", "[ENTITY]": "*"}
  before, model = load(directory), start(directory, new_words=words)
  ids = model.tokenizer.special.ids
  old = before.params["luke"]["embeddings"]["word"]["embedding"]
  new = model.params["luke"]["embeddings"]["word"]["embedding"]
  assert len(new) == len(old) + 2 == model.config.vocab_size == model.tokenizer.vocab_size
  for word, source in words.items():
    (tokens,) = before.tokenizer.encode([source])
    np.testing.assert_array_equal(new[ids[word]], old[tokens.ids[0]])
  (tokens,) = model.tokenizer.encode(["a [ENTITY] b"])
  assert ids["[ENTITY]"] in tokens.ids


def test_new_words_come_back_from_disk(directory, tmp_path):
  start(directory, new_words={"[ENTITY]": "*"}).save(tmp_path / "saved")
  again = load(tmp_path / "saved")
  assert again.tokenizer.special.ids["[ENTITY]"] == again.config.vocab_size - 1


def test_new_words_need_the_place_of_their_embeddings(directory, monkeypatch):
  monkeypatch.setattr(LukeConfig, "layout", Layout(entities=LukeConfig.layout.entities))
  with pytest.raises(InputError, match=r"LukeConfig: layout\.words: empty; .* to add \[ENTITY\]$"):
    start(directory, new_words={"[ENTITY]": "*"})


def test_the_whole_table_stays(directory):
  model = start(directory, head="answer", labels=(), entities="whole")
  assert model.processor.entity_vocab.ids == load(directory).processor.entity_vocab.ids


def test_a_model_of_words_only_reads_where_entities_start(directory):
  model = start(directory, entities="none")
  assert not model.config.entity_vocab_size and not model.config.use_entity_aware_attention
  assert "entity_embeddings" not in model.params["luke"]
  words = {"input_ids": [[0, 10, 11, 12, 2]]}
  outputs = model(**words, entity_start_positions=[[1, 3]])
  other = model(**words, entity_start_positions=[[3, 1]])
  assert outputs["logits"].shape == (1, 2)
  assert not np.allclose(outputs["logits"], other["logits"])
  with pytest.raises(InputError, match="entity_start_positions: missing"):
    model(**words)
  with pytest.raises(InputError, match="entity_start_positions: 5"):
    model(**words, entity_start_positions=[[1, 5]])


@pytest.mark.parametrize(
  ("head", "entities"),
  [
    ("entity", "none"),
    ("pair", "special"),
    *(
      pytest.param(*x, marks=pytest.mark.slow)
      for x in (("entity", "special"), ("pair", "none"), ("cloze", "special"), ("cloze", "none"))
    ),
  ],
)
def test_every_head_has_gradients_with_and_without_entities(directory, head, entities):
  model = start(directory, head=head, entities=entities)
  inputs = {"input_ids": np.array([[0, 10, 11, 12, 2]])}
  if entities == "none":
    inputs["entity_start_positions"] = np.array([[1, 3]])
  else:
    inputs |= {"entity_ids": np.array([[2, 2]]), "entity_position_ids": np.array([[[1], [3]]])}

  def loss(params):
    return jax.numpy.square(model.network.apply({"params": params}, **inputs)["logits"]).sum()

  gradients = jax.jit(jax.grad(loss))(model.params)
  kernel = gradients["scorer" if head == "cloze" else "classifier"]["kernel"]
  assert np.abs(kernel).max() > 0


def test_the_span_head_without_entities_reads_two_words(directory):
  model = start(directory, head="span", entities="none")
  assert model.params["classifier"]["kernel"].shape[0] == 2 * model.config.hidden_size


def test_what_a_start_needs(directory, tmp_path):
  without_sums(directory)
  (directory / "vocab.json").unlink()
  with pytest.raises(InputError, match="no tokenizer"):
    start(directory)
  model = tiny_model()
  dataclasses.replace(model, processor=None).save(tmp_path / "words")
  with pytest.raises(InputError, match="no entity vocabulary"):
    start(tmp_path / "words")
