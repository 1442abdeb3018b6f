"""The sets of functions, by name, and code that combines functions of several folders."""
