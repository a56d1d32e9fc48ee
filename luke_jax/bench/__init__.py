"""Benchmarks that time two sides in turn in one run, so that noise affects both alike."""
