"""LUKE (Yamada et al., EMNLP 2020) and mLUKE: words and entities in one transformer."""

from luke_jax.models.luke.config import SIZES, LukeConfig
from luke_jax.models.luke.family import LUKE, NOT_OF_ENTITIES

__all__ = ["LUKE", "NOT_OF_ENTITIES", "SIZES", "LukeConfig"]
