"""Freely licensed English for the models in the box."""
