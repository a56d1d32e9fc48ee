"""Published benchmarks of entity linking that come in forms of their own."""
