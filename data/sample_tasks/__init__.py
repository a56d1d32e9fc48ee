"""Small sets for the tasks, told from the facts of the sample wiki."""
