"""Products of matrices: a BLAS multiplies blocks, which threads share."""
