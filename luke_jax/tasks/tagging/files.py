"""Files of tagging, which are those of `ner`."""

from luke_jax.tasks.ner.files import parse, read, to_json

__all__ = ["parse", "read", "to_json"]
