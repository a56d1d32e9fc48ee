"""Names in text with labels that are given at run time."""
