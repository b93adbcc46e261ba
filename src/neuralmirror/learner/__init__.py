"""What is fitted to X and its mirrors: a sparse part and batches of perceptrons."""
