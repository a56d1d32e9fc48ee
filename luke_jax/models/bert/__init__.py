"""BERT, RoBERTa and XLM-R: one encoder of words, with different vocabularies and positions."""

from luke_jax.models.bert.config import SIZES, BertConfig, RobertaConfig, XlmRobertaConfig
from luke_jax.models.bert.families import BERT, ROBERTA, XLM_ROBERTA

__all__ = [
  "BERT",
  "ROBERTA",
  "SIZES",
  "XLM_ROBERTA",
  "BertConfig",
  "RobertaConfig",
  "XlmRobertaConfig",
]
