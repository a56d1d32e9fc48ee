"""Extractive question answering (paper §4.5): finding the answer to a question in a text."""
