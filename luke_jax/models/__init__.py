"""Systems: a folder each, whose subclass of `System` is all that the rest of the package knows."""
