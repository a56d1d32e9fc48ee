"""Weights, configs and vocabularies, to and from Hugging Face and the authors' archives."""

from luke_jax.convert.loading import load
from luke_jax.convert.model import Model
from luke_jax.convert.saving import save
from luke_jax.convert.vocabularies import add_entities, lite

__all__ = ["Model", "add_entities", "lite", "load", "save"]
