"""All systems of this package."""

from typing import Any

from luke_jax.errors import InputError
from luke_jax.models.bert import BERT, CAMEMBERT, ROBERTA, XLM_ROBERTA
from luke_jax.models.ernie_baidu import ERNIE_BAIDU
from luke_jax.models.ernie_thu import ERNIE_THU
from luke_jax.models.family import Family
from luke_jax.models.luke import LUKE
from luke_jax.models.tener import TENER

FAMILIES: tuple[Family, ...] = (
  *(LUKE, BERT, ROBERTA, XLM_ROBERTA, CAMEMBERT),
  *(ERNIE_THU, ERNIE_BAIDU, TENER),
)

SIZES: dict[str, Any] = {name: size for family in FAMILIES for name, size in family.sizes.items()}
"""Named configs of all systems."""


def family_named(name: str) -> Family:
  """Returns the system of a name."""
  for family in FAMILIES:
    if family.name == name:
      return family
  known = ", ".join(family.name for family in FAMILIES)
  raise InputError(f"system {name!r}: unknown; expected one of {known}")
