"""Models that predict: texts in, typed results out."""
