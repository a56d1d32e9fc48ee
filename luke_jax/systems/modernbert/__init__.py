"""ModernBERT, Ettin and mmBERT: windows of words, rotary positions, gates (Warner et al., 2024)."""

from luke_jax.systems.modernbert.config import SIZES, ModernBertConfig

__all__ = ["SIZES", "ModernBertConfig"]
