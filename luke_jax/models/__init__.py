"""Systems: a folder each, whose `Family` value is all that the rest of the package knows of it."""
