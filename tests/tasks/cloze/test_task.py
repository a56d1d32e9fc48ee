"""Cloze question answering by the engine."""

import dataclasses
import json
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from networks import backbone, tiny
from tiny import TEXTS
from tiny_runs import experiment, program, trained

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.tasks.cloze.files import parse
from luke_jax.tasks.cloze.task import ClozeAnswering
from luke_jax.tasks.predictions import Answer
from luke_jax.tasks.running import checked, processor_for
from luke_jax.training.optimizer import Optimizer
from luke_jax.training.scoring import evaluate

NAMES, COLOURS = ("Ana", "Bob", "Cy", "Di", "Eli"), ("red", "blue", "green")


def question(rng):
  """Three people, of whom the blue one is asked for."""
  colours, text, entities = rng.sample(COLOURS, 3), "", []
  for colour, name in zip(colours, rng.sample(NAMES, 3), strict=True):
    entities.append([len(text), len(text) + len(f"{colour} {name}")])
    text += f"{colour} {name}. "
  query, answers = "@placeholder is blue.", [entities[colours.index("blue")]]
  return {"text": text.rstrip(), "query": query, "entities": entities, "answers": answers}


@pytest.fixture
def task(tmp_path):
  rng = random.Random(0)
  for name, count in (("train", 200), ("dev", 60)):
    lines = (json.dumps(question(rng)) + "\n" for _ in range(count))
    (tmp_path / f"{name}.jsonl").write_text("".join(lines))
  files = {name: str(tmp_path / f"{name}.jsonl") for name in ("train", "dev")}
  return ClozeAnswering(**files, text=str(TEXTS / "byte_level"), words=40, entities=4, mention=8)


def model(task, entities):
  return tiny(
    vocab_size=processor_for(task, backbone()).tokenizer.vocab_size,
    entity_vocab_size=entities,
    use_entity_aware_attention=bool(entities),
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=1,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    initializer_range=0.1,
  )


@pytest.mark.slow
def test_training_finds_what_is_asked_for(task):
  chosen = dataclasses.replace(experiment(), model=model(task, 4), task=task)
  run = program(dataclasses.replace(chosen, optimizer=Optimizer(learning_rate=1e-2)))
  run = dataclasses.replace(run, steps=80)
  state, losses = trained(run, run.fresh_state(), 80)
  assert losses[-1] < losses[0] / 4
  scores = evaluate(run, state, "dev")
  assert scores["exact_match"] > 0.8  # a third by chance
  assert list(scores) == ["exact_match", "f1"]


@pytest.mark.slow
@pytest.mark.parametrize("entities", [4, 0])
def test_losses_with_entities_and_of_words_only(task, entities):
  encoder = backbone(model(task, entities))
  rows = task.engine().rows(encoder, task.engine().records(encoder, "train").rows[:4], [])
  assert {name: x.shape[1:] for name, x in rows.items()} == {
    name: shape.shape for name, shape in task.engine().row_shapes(encoder).items()
  }
  params = task.engine().initial_params(encoder, jax.random.key(0))
  gradients = jax.jit(
    jax.grad(lambda params: task.loss(encoder, params, rows, task.weights(rows), None)[0])
  )(params)
  assert jnp.any(gradients["scorer"]["kernel"])
  special = processor_for(task, backbone()).tokenizer.special.ids
  trained_words = jnp.any(gradients["luke"]["embeddings"]["word"]["embedding"], axis=1)
  assert trained_words[special["[PLACEHOLDER]"]] and trained_words[special["[ENTITY]"]]
  assert not trained_words[special["[HIGHLIGHT]"]]  # in none of the rows
  logits = jax.jit(task.engine().predict, static_argnums=0)(encoder, params, rows)["logits"]
  assert logits.shape == (4, 3) and logits.dtype == jnp.float32


def test_only_questions_with_answers_are_trained_on(task):
  value = question(random.Random(1))
  full = parse(value, "a", "line 1")
  without = dataclasses.replace(full, place="line 2", answers=None)
  none = dataclasses.replace(full, place="line 3", answers=())
  faults = Faults(skip=True)
  assert checked(task, [full, without, none], faults) == [full]
  assert [str(fault) for fault in faults.found] == [
    f"line {number}: answers: none; expected one at least" for number in (2, 3)
  ]
  assert task.found_labels([full]) == () and task.labels == ()


def test_the_line_of_a_prediction(task):
  example = parse(question(random.Random(1)), "a", "line 1")
  answers = [Answer("Cy", 4, 6, 0.98765), Answer("Di", 9, 11, 0.5)]
  line = task.to_prediction(example, answers)
  assert line == {
    "id": "a",
    "answer": "Cy",
    "span": [4, 6],
    "score": 0.9877,
    "scores": [[4, 6, 0.9877], [9, 11, 0.5]],
  }
  assert task.to_prediction(example, [])["answer"] == ""
  json.dumps(line)


@pytest.mark.parametrize(
  ("settings", "fault"),
  [
    ({"entities": 1}, "entities: 1; expected 2 at least, the gap and a candidate"),
    ({"words": 3}, "words: 3; expected a whole number from 8"),
    ({"labels": ("a",)}, "labels: a; expected none, candidates are scored"),
  ],
)
def test_settings_that_are_none(settings, fault):
  with pytest.raises(InputError, match=fault):
    ClozeAnswering(**settings)


def test_new_words_are_those_of_the_paper(task):
  assert list(task.new_words.items()) == [
    ("[HIGHLIGHT]", "@"),
    ("[PLACEHOLDER]", "#"),
    ("[ENTITY]", "*"),
  ]
  special = processor_for(task, backbone()).tokenizer.special.ids
  assert np.diff([special[word] for word in task.new_words]).tolist() == [1, 1]
