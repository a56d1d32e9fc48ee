"""BERT, RoBERTa, XLM-R and CamemBERT: one encoder of words, other vocabularies and positions."""

from luke_jax.systems.bert.config import (
  SIZES,
  BertConfig,
  CamembertConfig,
  RobertaConfig,
  XlmRobertaConfig,
)

__all__ = ["SIZES", "BertConfig", "CamembertConfig", "RobertaConfig", "XlmRobertaConfig"]
