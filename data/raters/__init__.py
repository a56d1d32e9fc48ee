"""Invented users who rate the same words differently."""
