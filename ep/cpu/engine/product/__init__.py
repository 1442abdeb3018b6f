"""The product engine: products of matrices, in blocks that threads share."""
