"""The map engine, for elementwise primitives: a function of the elements of any number of operands, over one walk."""
