"""The former place of `load_experiment`, from which users' experiment files may import it."""

from luke_jax.training.experiment import load_experiment

__all__ = ["load_experiment"]
