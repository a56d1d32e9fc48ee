"""What the small layers have in common."""

import jax
import jax.numpy as jnp
import pytest
from flax.errors import ScopeParamNotFoundError, ScopeParamShapeError

from luke_jax.nn.layers import Dense, LayerNorm, Numerics


@pytest.mark.parametrize("layer", [Dense(Numerics(), (4,)), LayerNorm(Numerics())])
def test_arrays_of_another_shape_are_refused_and_missing_ones_told(layer):
  """As Flax does of its own, which would trace each initializer for it."""
  x = jnp.zeros((2, 4))
  params = layer.init(jax.random.key(0), x)["params"]
  with pytest.raises(ScopeParamShapeError, match="bias"):
    layer.apply({"params": params | {"bias": jnp.zeros((1, 4))}}, x)
  with pytest.raises(ScopeParamNotFoundError, match="bias"):
    layer.apply({"params": {name: y for name, y in params.items() if name != "bias"}}, x)
