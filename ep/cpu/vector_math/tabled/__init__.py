"""float64 functions with tables in vector registers, for processors that have them (`lookup.has_register_tables`).

They replace the functions of the same names in `vector_math`, within the same error bounds.
"""
