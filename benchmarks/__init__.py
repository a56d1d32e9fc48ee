"""Benchmarks: `python -m benchmarks NAME`, in a checkout of the repository.

Each times two sides in turn in one run, so that noise affects both alike.
"""
