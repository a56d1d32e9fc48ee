"""Names in a wiki's text with the types of what they mean."""
