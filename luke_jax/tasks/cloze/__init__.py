"""Cloze question answering (paper §4.4): finding the entity of a passage that fills a gap."""
