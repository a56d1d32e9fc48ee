"""DistilBERT: half of a BERT's layers, which learned its predictions (Sanh et al., 2019)."""

from luke_jax.systems.distilbert.config import SIZES, DistilBertConfig

__all__ = ["SIZES", "DistilBertConfig"]
