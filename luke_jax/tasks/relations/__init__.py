"""Relation classification (paper §4.2): how two marked entities of a text are related."""
