"""Memory of a block of a product: if there is none, the launch says so, and the block is left."""

from __future__ import annotations

from ep.cpu.compile.jit import jit
from ep.cpu.compile.memory import allocate
from ep.cpu.engine.product.state import ProductLaunch


@jit
def allocate_for(launch: ProductLaunch, size: int) -> int:
    """Allocate `size` bytes and return their address; if memory is exhausted, note that in the launch and return 0."""
    memory = allocate(size)
    if memory == 0:
        launch.lacks_memory = 1
    return memory
