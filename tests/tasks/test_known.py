"""The names of tasks, and the contract that a class of a task keeps."""

import pytest

from luke_jax.errors import InputError
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.known import CLASSES, task_class

ABSTRACT = ("name", "heads", "metric", *sorted(TextTask.__abstractmethods__))


@pytest.mark.parametrize("name", ABSTRACT)
def test_a_class_that_lacks_a_part_is_refused_by_its_name(name):
  rest = dict.fromkeys(set(ABSTRACT) - {name}, "")
  with pytest.raises(InputError, match=f"^task Topics: no {name}; expected all that luke_jax"):
    type("Topics", (TextTask,), rest)
  complete = type("Topics", (TextTask,), dict.fromkeys(ABSTRACT, ""))
  type("Narrower", (complete,), {})  # has all of its base


@pytest.mark.parametrize("name", CLASSES)
def test_every_task_keeps_the_contract(name):
  task = task_class(name)
  assert issubclass(task, TextTask) and task.name == name and task().head in task.heads
