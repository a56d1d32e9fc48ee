"""LUKE (Yamada et al., EMNLP 2020) and mLUKE: words and entities in one transformer."""

from luke_jax.systems.luke.config import NOT_OF_ENTITIES, SIZES, LukeConfig

__all__ = ["NOT_OF_ENTITIES", "SIZES", "LukeConfig"]
