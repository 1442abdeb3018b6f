"""The cases to time primitives with, and the timing itself. `ep bench` and `ep demo` run them."""
