"""From pages to entity vocabulary and pretraining records, built shard by shard."""
