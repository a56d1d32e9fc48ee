"""Entity typing (paper §4.1): finding the types of a marked entity in its text."""
