"""Small sets for the five tasks, told from the facts of the sample wiki."""
