"""The CPU's factories, one file per primitive: the table of keys, and what Launch hands to compiled code."""
