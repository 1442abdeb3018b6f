"""How threads share the work of a launch."""

import ep.cpu.compile  # noqa: F401  first: it checks what Numba would read of the environment
