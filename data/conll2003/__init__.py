"""CoNLL-2003 as a dataset."""
