"""TACRED as a dataset."""
