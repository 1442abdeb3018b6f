"""The declaration of operators.

The inputs, attributes and results of each, as data for functions, documents and commands.
"""
