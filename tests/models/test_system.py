"""A system that is not whole is refused by name where its class is defined."""

import pytest

from luke_jax.errors import InputError
from luke_jax.models.system import System

NEEDED = ("name", "module", *sorted(System.__abstractmethods__))


@pytest.mark.parametrize("name", NEEDED)
def test_what_a_system_lacks_is_named(name):
  rest = dict.fromkeys(set(NEEDED) - {name}, "")
  with pytest.raises(InputError, match=f"^system Own: no {name}; expected all that luke_jax"):
    type("Own", (System,), rest)
  type("Own", (System,), dict.fromkeys(NEEDED, ""))


def test_names_in_files_and_prose_are_made_of_the_systems_name():
  members = {**dict.fromkeys(NEEDED, ""), "name": "two_towers"}
  own = type("Own", (System,), members)
  assert (own.title, own.prefix, own.model_types) == ("Two towers", "TwoTowers", ("two_towers",))
  named = type("Named", (own,), {"title": "TwoTowers", "model_types": ("towers",)})
  assert (named.title, named.prefix, named.model_types) == ("TwoTowers", "TwoTowers", ("towers",))
