"""Cloze question answering (paper §4.4): which entity of a passage fills the gap of a question."""
