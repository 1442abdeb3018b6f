"""A function of the elements of any number of operands, over one walk: the elementwise primitives."""
