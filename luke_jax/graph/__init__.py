"""Graphs of triples: their files, what is known in them, distances, ranks and vectors by name."""
