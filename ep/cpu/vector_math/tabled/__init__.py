"""float64 functions made of tables in vector registers, for processors that have them (`lookup.has_register_tables`).

They take the place of the functions of the same names in `vector_math`, within the same bounds of their errors.
"""
