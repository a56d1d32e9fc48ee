"""What a training step will cost on a TPU that is not there, read from its compiled program."""
