"""A device in the host's memory, with the arrays of its operators: the CPU, and other packages' first device."""
