"""How the vector functions are compiled, and whether the processor can run them."""

from collections.abc import Callable
from typing import Any

import numba
from numba.core.registry import cpu_target
from numba.extending import is_jitted

from ep.cpu.kernels.jit import INNER
from ep.cpu.kernels.lowering import WideVectors


def inlined(function: Callable[..., Any]) -> Any:
    """Compile `function` into every caller: LLVM would call a long one, and vectorises no loop with a call in it."""
    return (
        function if is_jitted(function) else numba.njit(forceinline=True, pipeline_class=WideVectors, **INNER)(function)
    )


def has_fused_multiply_add() -> bool:
    """Whether a fused multiply-add is one instruction; otherwise it is a call of libm, and these functions are slow."""
    triple, _, features = cpu_target.target_context.codegen().magic_tuple()
    return not triple.startswith("x86") or "+fma" in features.replace("+fma4", "")
