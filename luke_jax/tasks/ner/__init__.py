"""Named entity recognition (paper §4.3): which spans of a text are entities, and of which type."""
