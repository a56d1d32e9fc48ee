"""A build's pages, sentences and links as tables that other programs read, and readers of them."""
