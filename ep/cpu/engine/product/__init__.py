"""Products of matrices, in blocks that threads share."""
