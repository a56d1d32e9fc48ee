"""Facts of Re-DocRED: documents, their sentences, and sentences that are denied."""
