"""Scores of a linker on dev: how much it trusts what it learnt, and what its scores mean."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from luke_jax.convert.parts import ModelParts
from luke_jax.inference.batches import outputs, shapes_of
from luke_jax.inference.settings import processor_of
from luke_jax.tasks.calibration import Answered
from luke_jax.tasks.linking.files import LinkingExample
from luke_jax.tasks.linking.task import WITHHELD, EntityLinking

TRUSTS = (1.0, 0.75, 0.5, 0.25, 0.0)


def trusted(
  model: ModelParts, task: EntityLinking, examples: Sequence[LinkingExample]
) -> tuple[EntityLinking, list[Answered]]:
  """Returns the task with the trust that is best on examples, and its answers there.

  So a linker that learnt too little is no worse than how often names mean entities. The answers are
  of scores as computed; those to some names whose entity is taken out, all wrong, are among them.
  """
  task = dataclasses.replace(task, slope=1.0, offset=0.0)
  logits, rows = _logits(model, task, examples)
  tried = [dataclasses.replace(task, trust=trust) for trust in TRUSTS]
  found = [x.evaluate(examples, x.decode(examples, rows, logits)) for x in tried]
  best = max(range(len(tried)), key=lambda i: found[i].scores[task.metric])  # of equals the first
  answers = [*found[best].answers, *answers_withheld(model, tried[best], examples)[::WITHHELD]]
  return tried[best], answers


def answers_withheld(
  model: ModelParts, task: EntityLinking, examples: Sequence[LinkingExample]
) -> list[Answered]:
  """Returns the answers to names whose entity is taken out, none of which is right."""
  task = dataclasses.replace(task, withhold=True)
  logits, rows = _logits(model, task, examples)
  return list(task.evaluate(examples, task.decode(examples, rows, logits)).answers)


def _logits(
  model: ModelParts, task: EntityLinking, examples: Sequence[LinkingExample]
) -> tuple[dict[str, Any], list[Any]]:
  processor = processor_of(model, task)
  rows = task.features(processor, examples)
  pad = processor.entity_vocab.pad_id
  return (outputs(model, task, rows, pad, shapes_of(model.backbone)) if rows else {}), rows
