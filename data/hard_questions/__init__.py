"""Questions that were written by hand to be hard, half of them without an answer."""
