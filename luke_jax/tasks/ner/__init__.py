"""Named entity recognition (paper §4.3): finding the spans of a text that are entities, by type."""
