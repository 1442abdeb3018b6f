"""The CPU's factories, one file per primitive: the table of keys, and the call of compiled code by Launch."""
