"""The systems: a folder each, with all of it. `luke_jax.models.table` finds them by name."""
