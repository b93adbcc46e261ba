"""The neural Gaussian mirror: noise, scales, the two schemes, importance, and the estimator."""
