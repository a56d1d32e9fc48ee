"""TENER: whole words and their characters, with attention that knows direction and distance.

The system of Yan et al. (2019), https://arxiv.org/abs/1911.04474, for named entities without
pretraining; and the plain transformer that the paper compares it with.
"""

from luke_jax.systems.tener.config import SIZES, TenerConfig

__all__ = ["SIZES", "TenerConfig"]
