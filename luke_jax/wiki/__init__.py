"""Builds pretraining records, an entity vocabulary and a table of names from a MediaWiki dump."""
