"""Records to batches: the same ones, in the same order, for any number of hosts and workers."""
