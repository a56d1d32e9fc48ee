"""Extractive question answering (paper §4.5): which stretch of a text answers a question."""
