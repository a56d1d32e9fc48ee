"""SQuAD 1.1 as a dataset."""
