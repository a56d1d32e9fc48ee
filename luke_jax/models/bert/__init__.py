"""BERT, RoBERTa, XLM-R and CamemBERT: one encoder of words, other vocabularies and positions."""

from luke_jax.models.bert.config import (
  SIZES,
  BertConfig,
  CamembertConfig,
  RobertaConfig,
  XlmRobertaConfig,
)
from luke_jax.models.bert.families import BERT, CAMEMBERT, ROBERTA, XLM_ROBERTA

__all__ = [
  "BERT",
  "CAMEMBERT",
  "ROBERTA",
  "SIZES",
  "XLM_ROBERTA",
  "BertConfig",
  "CamembertConfig",
  "RobertaConfig",
  "XlmRobertaConfig",
]
