"""Whole runs: the experiment, its start, its notes, and the resulting model."""
