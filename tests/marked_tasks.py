"""Tiny runs of the two tasks that mark entities, for their tests."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from networks import TINY, backbone
from tiny import TEXTS
from tiny_runs import trained

from luke_jax.formats.files import Faults
from luke_jax.inference.settings import trained_model
from luke_jax.model import Model
from luke_jax.models.system import Backbone
from luke_jax.pipeline.batches import Data
from luke_jax.systems.bert.config import BertConfig
from luke_jax.tasks.running import processor_for
from luke_jax.training.experiment import Experiment
from luke_jax.training.mesh import make_mesh
from luke_jax.training.optimizer import Optimizer
from luke_jax.training.program import Program
from luke_jax.training.scoring import evaluate

TEXT = str(TEXTS / "byte_level")


def written(path: Path, objects: Sequence[dict[str, Any]]) -> Path:
  """A file of JSON lines."""
  path.write_text("".join(json.dumps(value) + "\n" for value in objects), encoding="utf-8")
  return path


def with_labels(task: Any) -> Any:
  """The task with the labels of its training file."""
  examples = task.read(Path(task.train), Faults())
  return dataclasses.replace(task, labels=task.found_labels(examples))


def experiment(task: Any, **fields: Any) -> Experiment:
  """A tiny model; `fields` are of its config."""
  words = processor_for(task, backbone()).tokenizer.vocab_size
  sizes = {"vocab_size": words, "entity_vocab_size": 4}
  sizes |= {"hidden_size": 32, "intermediate_size": 64}
  return Experiment(
    model=dataclasses.replace(TINY, **(sizes | fields)),
    task=task,
    data=Data(batch_size=16, evaluation_batch_size=32),
    optimizer=Optimizer(learning_rate=3e-3, frozen=("luke/pooler",)),
  )


def random_bert(task: Any) -> Model:
  """A small BERT for a task, with parameters that are random everywhere."""
  sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
  sizes |= {"intermediate_size": 12, "max_position_embeddings": 32}
  backbone = Backbone(BertConfig(vocab_size=experiment(task).model.vocab_size, **sizes))
  rng = np.random.default_rng(0)
  shapes = jax.eval_shape(lambda: task.engine().initial_params(backbone, jax.random.key(0)))
  params = jax.tree.map(lambda x: rng.normal(size=x.shape).astype(np.float32) / 2, shapes)
  return Model.of(trained_model(task, task.network(backbone), params))


def learned(chosen: Experiment, steps: int) -> tuple[list[float], dict[str, float]]:
  """The losses of so many steps, and then the scores of the task's dev file."""
  program = Program(chosen, make_mesh(chosen.mesh, jax.devices()[:1]), steps)
  state, losses = trained(program, program.fresh_state(), steps)
  return losses, evaluate(program, state, "dev")


def loss_and_gradients(task: Any, backbone: Backbone, rows: int) -> tuple[float, dict]:
  """Of fresh parameters, on some rows of the task's training file."""
  records = task.engine().records(backbone, "train")
  batch = task.engine().rows(backbone, [records[i] for i in range(rows)], [])
  params = task.engine().initial_params(backbone, jax.random.key(0))
  return jax.jit(
    jax.value_and_grad(lambda p: task.loss(backbone, p, batch, task.weights(batch), None)[0])
  )(params)
