"""Primitives by structure: a device with a kernel for each kind of structure has a whole table of primitives."""
