"""Tagging: named entities by a tag for every word, beside `ner`, which classifies spans."""
