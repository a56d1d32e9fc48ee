"""Names of entities and the pages they mean: their table, and texts annotated with it."""
