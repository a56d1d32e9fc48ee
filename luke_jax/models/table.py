"""All systems of this package."""

from luke_jax.errors import InputError
from luke_jax.models import bert, ernie_baidu, ernie_thu, luke, tener
from luke_jax.models.system import System

SYSTEMS: tuple[type[System], ...] = (
  luke.LukeConfig,
  bert.BertConfig,
  bert.RobertaConfig,
  bert.XlmRobertaConfig,
  bert.CamembertConfig,
  ernie_thu.ErnieThuConfig,
  ernie_baidu.ErnieBaiduConfig,
  tener.TenerConfig,
)

SIZES: dict[str, System] = {
  **luke.SIZES,
  **bert.SIZES,
  **ernie_thu.SIZES,
  **ernie_baidu.SIZES,
  **tener.SIZES,
}
"""Sizes of all systems that have names."""


def system_named(name: str) -> type[System]:
  """Returns the system of a name."""
  for system in SYSTEMS:
    if system.name == name:
      return system
  known = ", ".join(system.name for system in SYSTEMS)
  raise InputError(f"system {name!r}: unknown; expected one of {known}")
