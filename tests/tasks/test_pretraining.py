"""Pretraining on stored records, through the engine."""

import dataclasses
import functools
import json
import pickle
from pathlib import Path

import jax
import numpy as np
import pytest
from flax.traverse_util import flatten_dict
from networks import applied, backbone, network
from scipy.special import log_softmax
from tiny_runs import left_at, logged, same
from toy_corpus import MAX_ENTITIES, MAX_MENTION, MAX_WORDS, toy_model, toy_records, write_corpus

from luke_jax.errors import InputError
from luke_jax.pipeline.batches import Data, evaluation_rows
from luke_jax.pipeline.rows import Masking
from luke_jax.tasks.pretraining import Pretraining
from luke_jax.training import loop as loops
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.export import read_run
from luke_jax.training.loop import train
from luke_jax.training.mesh import MeshShape, make_mesh
from luke_jax.training.optimizer import Optimizer
from luke_jax.training.program import Program


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  return write_corpus(tmp_path_factory.mktemp("pretraining") / "corpus", toy_records(600))


def task_of(*folders, **fields):
  sizes = {"words": MAX_WORDS, "entities": MAX_ENTITIES, "mention": MAX_MENTION}
  return Pretraining(folders, **(sizes | {"held_out": 0.1, "dev_records": 64} | fields))


def experiment(folder, model=None, **run):
  return Experiment(
    model=model or toy_model(),
    task=task_of(folder),
    data=Data(batch_size=16, evaluation_batch_size=16),
    optimizer=Optimizer(learning_rate=1e-3, frozen=("luke/pooler",)),
    run=Run(**({"steps": 6, "log_every": 2, "save_every": 3} | run)),
  )


def a_batch(folder, model, rows=8):
  task, encoder = task_of(folder), backbone(model)
  records = task.records(encoder, "train")
  rngs = [np.random.default_rng((0, number)) for number in range(rows)]
  return task, task.rows(encoder, [records[number] for number in range(rows)], rngs)


def random_params(task, model):
  params = task.initial_params(backbone(model), jax.random.key(0))
  rng = np.random.default_rng(0)
  return jax.tree.map(lambda x: (0.2 * rng.normal(size=x.shape)).astype(np.float32), params)


def dense(model, params, batch):
  """The losses and accuracies from the logits of every token, plainly."""
  names = ("input_ids", "attention_mask", "entity_ids", "entity_attention_mask")
  inputs = {name: batch[name] for name in (*names, "entity_position_ids") if name in batch}
  outputs = jax.device_get(applied(network("LukeForMaskedLM", model), params, inputs))
  found = {}
  for kind, logits, prefix in (("word", "logits", ""), ("entity", "entity_logits", "entity_")):
    if f"{prefix}labels" not in batch:
      continue
    losses, hits = [], []
    for row, places in enumerate(
      batch["masked_positions" if not prefix else "masked_entity_positions"]
    ):
      for place, label in zip(places, batch[f"{prefix}labels"][row], strict=True):
        if label != -100:
          scores = outputs[logits][row, place]
          losses.append(-log_softmax(scores)[label])
          hits.append(scores.argmax() == label)
    found[f"{kind}_loss"], found[f"{kind}_accuracy"] = np.mean(losses), np.mean(hits)
  if model.cls_entity_prediction:
    table = params["luke"]["entity_embeddings"]["entity"]["embedding"]
    known = batch["page_ids"] >= 0
    distances = outputs["page_entity"][known] - table[batch["page_ids"][known]]
    found["page_loss"] = np.mean(np.square(distances))
  return found


APART = {"tie_word_embeddings": False, "tie_entity_embeddings": False}


@functools.partial(jax.jit, static_argnums=(0, 1))
def loss_of(task, encoder, params, batch):
  """The loss without dropout, and the metrics."""
  return task.loss(encoder, params, batch, task.weights(batch), None)


@pytest.mark.parametrize(
  "fields",
  [
    pytest.param({}, id="plain", marks=pytest.mark.slow),
    pytest.param({"cls_entity_prediction": True, **APART}, id="page and decoders apart"),
  ],
)
def test_the_loss_is_that_of_all_logits(folder, fields):
  model = toy_model(**fields)
  task, batch = a_batch(folder, model)
  params = random_params(task, model)
  loss, metrics = loss_of(task, backbone(model), params, batch)
  expected = dense(model, params, batch)
  for name, value in expected.items():
    np.testing.assert_allclose(metrics[name], value, rtol=1e-4, err_msg=name)
  np.testing.assert_allclose(
    loss, sum(x for name, x in expected.items() if name.endswith("loss")), rtol=1e-4
  )
  assert metrics["tokens"] == batch["attention_mask"].sum()


def test_the_score_is_the_loss_over_all_records(folder):
  model = toy_model()
  task, batch = a_batch(folder, model)
  params = random_params(task, model)
  _, metrics = loss_of(task, backbone(model), params, batch)
  predict = jax.jit(task.predict, static_argnums=0)
  predictions = jax.device_get(predict(backbone(model), params, batch))
  scores = task.score(None, predictions)
  for name in ("word_loss", "word_accuracy", "entity_loss", "entity_accuracy"):
    np.testing.assert_allclose(scores[name], metrics[name], rtol=1e-4, err_msg=name)
  labels = batch["entity_labels"][batch["entity_labels"] != -100]
  assert scores["entity_majority"] == np.bincount(labels).max() / len(labels)


def test_the_control_run_has_no_entities(folder):
  model = toy_model(entity_vocab_size=0)
  task, batch = a_batch(folder, model)
  params = random_params(task, model)
  assert not [path for path in flatten_dict(params, sep="/") if "entit" in path]
  loss, metrics = loss_of(task, backbone(model), params, batch)
  np.testing.assert_allclose(loss, dense(model, params, batch)["word_loss"], rtol=1e-4)
  assert not [name for name in {**metrics, **batch} if "entity" in name]


@pytest.mark.slow
def test_pages_are_met_and_do_not_come_to_meet(folder):
  """The embeddings of pages get a gradient only from where they are among the entities read."""
  model = toy_model(cls_entity_prediction=True, num_hidden_layers=1)
  task, batch = a_batch(folder, model, rows=6)
  params, encoder = random_params(task, model), backbone(model)

  gradient = jax.jit(
    jax.grad(
      lambda p, batch: task.loss(encoder, p, batch, task.weights(batch), None)[1]["page_loss"]
    )
  )
  found = flatten_dict(jax.device_get(gradient(params, batch)), sep="/")
  table = found["luke/entity_embeddings/entity/embedding"]
  unread = sorted(set(batch["page_ids"].tolist()) - set(batch["entity_ids"].ravel().tolist()))
  assert unread and not table[unread].any() and table.any()
  assert found["page_entity/decoder/kernel"].any()
  nowhere = gradient(params, batch | {"page_ids": np.full_like(batch["page_ids"], -1)})
  assert not any(map(np.any, jax.tree.leaves(nowhere)))


def test_batches_do_not_depend_on_hosts_and_workers(folder):
  """Any process's rows of any batch are those of one process that makes all of them."""
  chosen = experiment(folder)
  program = Program(chosen, make_mesh(MeshShape(), jax.devices()[:1]), steps=6)
  whole = program.training_batches(chosen.task.records(chosen.backbone, "train"))
  batches = list(whole.iterate(0, 3, workers=0))
  for number, batch in enumerate(batches):
    parts = [
      dataclasses.replace(whole, rows=rows)(number) for rows in np.array_split(np.arange(16), 4)
    ]
    for name, x in batch.items():
      np.testing.assert_array_equal(np.concatenate([p[name] for p in parts], axis=1), x)
  for number, batch in enumerate(whole.iterate(1, 3, workers=1), start=1):
    for name, x in batch.items():
      np.testing.assert_array_equal(x, batches[number][name])
  again = dataclasses.replace(whole, seed=1)(0)
  assert any((again[name] != batches[0][name]).any() for name in again)


STAGED = Masking(word_stages=(0.3, 0.15, 0.05), entity_stages=(0.5,), stage_steps=2)


def test_a_step_masks_the_share_of_its_stage(folder):
  """Batch k is that of a run with this share alone, but for room, and dev is that of none."""
  chosen = experiment(folder)

  def program(masking):
    task = dataclasses.replace(chosen.task, masking=masking)
    return Program(dataclasses.replace(chosen, task=task), make_mesh(MeshShape()), steps=7)

  staged, plain = program(STAGED), program(Masking())
  records = chosen.task.records(chosen.backbone, "train")
  batches = pickle.loads(pickle.dumps(staged.training_batches(records)))  # noqa: S301
  for number, share in enumerate((0.3, 0.3, 0.15, 0.15, 0.05, 0.05, 0.05)):
    alone = program(Masking(words=share, entities=0.5)).training_batches(records)
    check_same(batches(number), alone(number))
  dev, order = chosen.task.records(chosen.backbone, "dev"), np.arange(8)
  check_same(*(evaluation_rows(dev, x.make_rows, order, order) for x in (staged, plain)))


def check_same(found, expected):
  """Checks that arrays are equal in the room that the second ones have, with padding beyond it."""
  for name, x in expected.items():
    room = tuple(map(slice, x.shape))
    np.testing.assert_array_equal(found[name][room], x, err_msg=name)
    rest = found[name][..., x.shape[-1] :] if x.ndim == found[name].ndim else found[name][:0]
    assert np.isin(rest, (0, -100)).all()


@pytest.mark.slow
@pytest.mark.parametrize("masking", [Masking(), STAGED])
def test_stopped_and_resumed_is_the_same_to_the_bit(
  folder, tmp_path, one_device, monkeypatch, masking
):
  model = toy_model(num_hidden_layers=1)
  chosen = experiment(folder, model, steps=4, best_metric="entity_accuracy")
  chosen = dataclasses.replace(chosen, task=dataclasses.replace(chosen.task, masking=masking))
  summary = train(chosen, tmp_path / "whole")
  with monkeypatch.context() as stopping:
    stopping.setattr(loops.Watch, "due", left_at(2))
    assert train(chosen, tmp_path / "run")["step"] == 2
  assert train(chosen, tmp_path / "run")["dev/entity_loss"] == summary["dev/entity_loss"]
  assert same(read_run(tmp_path / "whole")[2], read_run(tmp_path / "run")[2])
  names = {"entity_accuracy", "entity_majority", "word_accuracy", "entity_loss", "word_loss"}
  assert {f"dev/{name}" for name in names} <= set(summary)
  assert "entity_accuracy" in logged(tmp_path / "whole")[0]


def test_several_corpora(folder, tmp_path):
  other = write_corpus(tmp_path / "other", toy_records(60, seed=1))
  task = task_of(folder, other)
  records = task.records(backbone(toy_model()), "train")
  assert len(records) == 600 + round(600 * 0.1**0.7)
  assert 0 < len(task.records(backbone(toy_model()), "dev")) <= 64


@pytest.mark.parametrize(
  ("model", "fields", "line"),
  [
    ({"vocab_size": 300}, {}, r"model.vocab_size: 300; expected 602, as the records of"),
    ({"entity_vocab_size": 42}, {}, r"model.entity_vocab_size: 42; expected 43, .* or 0 for words"),
    ({"entity_vocab_size": 44}, {}, r"model.entity_vocab_size: 44; expected 43"),
    ({"max_position_embeddings": 33}, {}, r"task.words: 32; expected at most 31, the model's"),
    ({}, {"words": 16}, r"task.words: 16; expected 32, as the records of"),
    ({}, {"entities": 5}, r"task.entities: 5; expected 6, as the records of"),
    ({}, {"mention": 2}, r"task.mention: 2; expected 3, as the records of"),
    ({"pad_token_id": 0}, {}, r"model.pad_token_id: 0; expected 1, as"),
    (
      {"entity_vocab_size": 0, "cls_entity_prediction": True},
      {},
      r"cls_entity_prediction: true; expected false",
    ),
  ],
)
def test_what_does_not_go_together_is_refused(folder, model, fields, line):
  with pytest.raises(InputError, match=line):
    task_of(folder, **fields).records(backbone(toy_model(**model)), "train")


def test_records_of_another_tokenizer_are_refused(folder, tmp_path):
  other = Path(write_corpus(tmp_path / "other", toy_records(10), kind="sentence_piece"))
  model = backbone(toy_model(vocab_size=2000))
  with pytest.raises(InputError, match=r"other: another tokenizer than .*corpus; expected"):
    task_of(folder, str(other)).records(model, "train")
  metadata = json.loads((other / "metadata.json").read_text())
  (other / "metadata.json").write_text(json.dumps(metadata | {"tokenizer": "0" * 64}))
  with pytest.raises(InputError, match="its tokenizer is not the one its records were built with"):
    task_of(str(other)).records(model, "train")
  titles = Path(write_corpus(tmp_path / "titles", toy_records(10))) / "entity_vocab.json"
  titles.write_text(titles.read_text().replace("Entity 1", "Entity one", 1))
  with pytest.raises(InputError, match="titles: another entity vocabulary than"):
    task_of(folder, str(titles.parent)).records(backbone(toy_model()), "train")


@pytest.mark.parametrize(
  ("fields", "line"),
  [
    ({"words": 2}, "words: 2; expected a whole number from 3"),
    ({"held_out": 0.0}, "held_out: 0.0; expected a share above 0"),
    ({"exponent": 2.0}, "exponent: 2.0; expected a number from 0 to 1"),
    ({"corpora": ()}, "corpora: .*expected one folder"),
  ],
)
def test_settings_that_mean_nothing(fields, line):
  with pytest.raises(InputError, match=line):
    Pretraining(**({"corpora": ("corpus",)} | fields))
