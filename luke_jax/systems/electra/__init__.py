"""ELECTRA: a BERT that learned which words of a text were replaced (Clark et al., ICLR 2020)."""

from luke_jax.systems.electra.config import SIZES, ElectraConfig

__all__ = ["SIZES", "ElectraConfig"]
