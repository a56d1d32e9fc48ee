"""Reads dumps of MediaWiki and of Wikidata as pages, titles and items."""
