"""Systems: a folder each, whose `Family` value is all that the rest of the house knows of it."""
