"""Results of experiments: what a run scored and where, and the paper's tables made of them."""
