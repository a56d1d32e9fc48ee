"""MA-BERT (Zhang et al. 2021): labels of texts with attributes, over any encoder."""

from luke_jax.heads.attributes.files import UNKNOWN, Attributes
from luke_jax.heads.attributes.head import HEADS, AttributesHead, attributes_of

__all__ = ["HEADS", "UNKNOWN", "Attributes", "AttributesHead", "attributes_of"]
