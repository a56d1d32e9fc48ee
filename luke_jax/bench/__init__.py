"""Benchmarks: two sides in one run, taking turns, so that a noisy machine is noisy for both."""
