"""The sets of functions, by name, and what is put together of functions of several folders."""
