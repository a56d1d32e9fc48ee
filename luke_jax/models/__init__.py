"""Systems: one file each, saying which layers come in which order."""
