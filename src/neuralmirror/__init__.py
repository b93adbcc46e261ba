"""Controlled feature selection for neural networks by Gaussian mirrors."""
