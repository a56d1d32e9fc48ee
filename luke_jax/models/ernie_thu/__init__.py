"""ERNIE of Tsinghua: words, and beside them the vectors of the entities that they name.

The system of Zhang et al. (ACL 2019), https://aclanthology.org/P19-1139/.
"""

from luke_jax.models.ernie_thu.config import ErnieThuConfig
from luke_jax.models.ernie_thu.family import ERNIE_THU

__all__ = ["ERNIE_THU", "ErnieThuConfig"]
