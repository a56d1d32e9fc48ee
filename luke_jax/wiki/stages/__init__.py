"""Builds the entity vocabulary and the pretraining records from pages, shard by shard."""
