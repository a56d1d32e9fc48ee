"""Classification of texts and pairs of texts: one label, several, or a number."""
