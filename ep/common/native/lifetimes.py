"""The lifetimes of variables, which Numba computes anew after each pass that changes a function.

Only the last ones are used: where compiled code is to drop a variable. The others take a twentieth of a kernel's
compile time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ep.common.native.replaced import replaced


@contextmanager
def lifetimes_where_used(numbas: Any) -> Iterator[None]:
    """Make Numba compute lifetimes once for a function; the caller holds Numba's lock.

    numbas: Numba's module `postproc`, for the CPU or for CUDA.
    """
    processor = numbas.PostProcessor
    whole = processor.run

    def run(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        function = self.func_ir
        if emit_dels or function.is_generator:
            whole(self, emit_dels, extend_lifetimes)
            return
        function.blocks = numbas.transforms.canonicalize_cfg(function.blocks)
        function.variable_lifetime = numbas.VariableLifetime(function.blocks)  # it computes what it is asked for
        function.generator_info = None

    with replaced(processor, "run", run):
        yield
