"""Fixed-X and model-X knockoffs: covariances, sampling, statistics and selectors."""
