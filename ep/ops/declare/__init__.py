"""How operators are declared: what each takes and gives, as data that functions, documents and commands come from."""
