"""Cases to time primitives with, and how they are timed. `ep bench` and `ep demo` run them."""
