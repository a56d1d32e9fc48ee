"""ERNIE of Tsinghua: words, and beside them the vectors of the entities that they name.

The system of Zhang et al. (ACL 2019), https://aclanthology.org/P19-1139/.
"""

from luke_jax.systems.ernie_thu.config import SIZES, ErnieThuConfig

__all__ = ["SIZES", "ErnieThuConfig"]
