"""Classes of tasks that are not whole are refused before anything is read or traced."""

import pytest

from luke_jax.errors import InputError
from luke_jax.tasks.known import CLASSES, FUNCTIONS, check_task, task_class


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_class_lacks_is_named(name):
  lacking = type("Topics", (), dict.fromkeys(set(FUNCTIONS) - {name}))
  with pytest.raises(InputError, match=rf"^task Topics: no {name}; expected all of name, metric"):
    check_task(lacking)


@pytest.mark.parametrize("name", CLASSES)
def test_the_tasks_with_names_are_whole(name):
  check_task(task_class(name))
