"""Sentences with names that mean entries of public catalogues."""
