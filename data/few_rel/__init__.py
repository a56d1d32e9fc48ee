"""A world whose names tell nothing: each is shared by things of different kinds and countries."""
