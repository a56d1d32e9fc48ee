"""Open Entity as a dataset."""
