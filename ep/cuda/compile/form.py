"""The forms of kernels that compute or copy each element once: two grids, and two kinds of stores.

No GPU has compared them yet: `python -m benchmarks.gpu second` does. Results are the same in all forms.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ep.common.environment import CUDA_GRID, CUDA_STORES
from ep.cuda.compile.launch_config import BLOCK_THREADS, PASS_ITEMS
from ep.cuda.compile.numba_cuda import block_of_grid, device_function, num_threads, thread_index, thread_of_block


class Form(NamedTuple):
    """The form of a kernel.

    one_pass: whether each thread processes at most PASS_ITEMS items, and the grid has as many blocks as that takes;
    otherwise the grid has the blocks that are resident, and each thread processes items with the grid as step.
    streams: whether results are stored as data that is not read again soon.
    """

    one_pass: bool = False
    streams: bool = False

    @property
    def suffix(self) -> str:
        """The end of a kernel's name; empty for the usual form."""
        return f"{'.pass' if self.one_pass else ''}{'.streams' if self.streams else ''}"

    @property
    def items_per_thread(self) -> int:
        """The most items of a thread; 0 for any number."""
        return PASS_ITEMS if self.one_pass else 0


def current_form() -> Form:
    """Return the form that the environment variables ask for."""
    return Form(CUDA_GRID.value() == "pass", CUDA_STORES.value() == "streaming")


@cache
def thread_range(one_pass: bool) -> Any:
    """Return `range_of(count)`: the calling thread's first item of `count`, the step to its next one, and their end.

    It is a grid-stride range, or the thread's items of its block.
    """
    if not one_pass:
        return device_function(lambda count: (thread_index(), num_threads(), count))
    block_items = BLOCK_THREADS * PASS_ITEMS

    def range_in_block(count: int) -> Any:
        begin = block_of_grid()[0] * block_items
        return begin + thread_of_block(), BLOCK_THREADS, min(count, begin + block_items)

    return device_function(range_in_block)
