"""Pictures of texts, predictions and scores: for the terminal, and as HTML that stands alone."""
