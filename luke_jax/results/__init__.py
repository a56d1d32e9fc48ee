"""Results of experiments: the scores of runs with their circumstances, and the paper's tables."""
