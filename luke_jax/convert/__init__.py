"""Model directories in and out: weights, configs, vocabularies and model cards."""
