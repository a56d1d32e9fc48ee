"""Diagnosis of a machine and its installation, made in child processes that may crash."""
