"""A system that is not whole is refused by name where its class is defined."""

import pytest

from luke_jax.errors import InputError
from luke_jax.models.system import System

NEEDED = ("name", "title", "module", *sorted(System.__abstractmethods__))


@pytest.mark.parametrize("name", NEEDED)
def test_what_a_system_lacks_is_named(name):
  rest = dict.fromkeys(set(NEEDED) - {name}, "")
  with pytest.raises(InputError, match=f"^system Own: no {name}; expected all that luke_jax"):
    type("Own", (System,), rest)
  type("Own", (System,), dict.fromkeys(NEEDED, ""))
