"""Files of examples, of whatever program, as dictionaries with our fields."""
