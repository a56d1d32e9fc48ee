"""A head that is not whole is refused by name before anything is traced."""

import flax.linen as nn
import pytest
from networks import backbone

from luke_jax.errors import InputError
from luke_jax.models.head import Head
from luke_jax.models.network import Network
from luke_jax.nn.layers import Numerics


class Whole(Head):
  kind = "whole"

  def loss(self, outputs):
    """Returns no number."""


class WithoutLoss(Head):
  kind = "without_loss"


class WithoutKind(Head):
  loss = Whole.loss


class NoHead(nn.Module):
  numerics: Numerics
  kind = "no_head"
  loss = Whole.loss


@pytest.mark.parametrize(
  ("head", "fault"), [(WithoutLoss, "no loss"), (WithoutKind, "no kind"), (NoHead, "no head")]
)
def test_what_a_head_lacks_is_named(head, fault):
  with pytest.raises(InputError, match=f"^head {head.__name__}: {fault}; expected a luke_jax"):
    Network(backbone(), head(Numerics()))
  assert Network(backbone(), Whole(Numerics())).kind == "whole"
