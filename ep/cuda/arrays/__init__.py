"""Arrays on CUDA: the arrays that operators return, and the reader of arrays of other libraries."""
