import os

import pytest

from luke_jax.errors import InputError
from luke_jax.plan.chips import parse_topology
from luke_jax.plan.compiling import compile_in_child


def test_a_compiler_that_dies_is_one_line():
  with pytest.raises(
    InputError, match="compiling for v5e:2x4: the process died: nothing on stderr"
  ):
    compile_in_child(parse_topology("v5e:2x4"), os._exit, 1)


def test_faults_of_the_user_come_through():
  with pytest.raises(InputError, match="topology: 'v9:2'"):
    compile_in_child(parse_topology("v5e:2x4"), parse_topology, "v9:2")
