"""Declarations of operators: inputs and results as data, the source of functions, documents and commands."""
