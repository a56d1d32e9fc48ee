"""Scores of a linker on dev: how much it trusts what it learnt, and what its scores mean."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from luke_jax.tasks.calibration import ENOUGH_ANSWERS, Answered, fitted
from luke_jax.tasks.linking.files import LinkingExample

if TYPE_CHECKING:
  from luke_jax.tasks.contract import ReadExamples
  from luke_jax.tasks.linking.task import EntityLinking

WITHHELD = 10  # one name in so many is trained without its entity, so that none of them is right
TRUSTS = (1.0, 0.75, 0.5, 0.25, 0.0)


def tuned(
  task: "EntityLinking", read: "ReadExamples", dev: Sequence[LinkingExample]
) -> Mapping[str, object]:
  """Returns the trust that is best on dev, and what scores mean there.

  So a linker that learnt too little is no worse than how often names mean entities.
  """
  task = dataclasses.replace(task, slope=1.0, offset=0.0)
  _, rows, logits = read(task, dev)
  tried = [dataclasses.replace(task, trust=trust) for trust in TRUSTS]
  found = [x.evaluate(dev, x.decode(dev, rows, logits)) for x in tried]
  best = max(range(len(tried)), key=lambda i: found[i].scores[task.metric])  # of equals the first
  answers = [*found[best].answers, *withheld(tried[best], read, dev)]
  settings: dict[str, object] = {"trust": TRUSTS[best]}
  if len(answers) >= ENOUGH_ANSWERS:
    slope, offset = fitted(answers)
    settings |= {"slope": round(slope, 6), "offset": round(offset, 6)}
  return settings


def withheld(
  task: "EntityLinking", read: "ReadExamples", examples: Sequence[LinkingExample]
) -> list[Answered]:
  """Returns the answers to some names whose entity is taken out, none of which is right."""
  task = dataclasses.replace(task, withhold=True)
  _, rows, logits = read(task, examples)
  answers = task.evaluate(examples, task.decode(examples, rows, logits)).answers
  return list(answers)[::WITHHELD]
