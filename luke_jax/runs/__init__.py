"""Runs from beginning to end: the experiment, its start, its notes, and the model that it makes."""
