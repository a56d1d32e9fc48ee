"""GLiNER: names with any labels, by a text encoder and perhaps another one for labels."""

from luke_jax.systems.gliner.config import SIZES, GlinerConfig

__all__ = ["SIZES", "GlinerConfig"]
