"""ReCoRD as a dataset."""
