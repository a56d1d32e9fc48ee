"""What of a machine and its installation works: looked at from outside, so that a fault is told."""
