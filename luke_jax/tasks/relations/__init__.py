"""Relation classification (paper §4.2): finding the relation of two marked entities of a text."""
