"""Entity typing (paper §4.1): which of the types a marked entity has in its text."""
