"""Facts: every relation among all names of a text, read in one pass."""
