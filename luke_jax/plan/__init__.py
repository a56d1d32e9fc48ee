"""Cost of a training step on TPUs that are not attached, read from its compiled program."""
