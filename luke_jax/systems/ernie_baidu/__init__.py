"""ERNIE 1.0 of Baidu: a BERT that is pretrained by masking phrases and entities whole.

The system of Sun et al. (2019), https://arxiv.org/abs/1904.09223.
"""

from luke_jax.systems.ernie_baidu.config import SIZES, ErnieBaiduConfig

__all__ = ["SIZES", "ErnieBaiduConfig"]
