"""Operators: functions on arrays that compute with primitives and nothing else.

Some move data, such as `gather`, `expand` and `permute`; some reduce it, such as `sum` and `softmax`; and there is one
function for each UnaryOp and BinaryOp. Those are named in snake_case after the enumerator (kMax and kMin are `maximum`
and `minimum`, since `max` and `min` reduce), and have the array API's names as well: `multiply` is `mul`. All run on
the device of their operands; a number of Python or NumPy can be combined with operands on any device.

On the CPU they accept objects that NumPy converts to arrays or that export DLPack from host memory, and return
ndarrays. On CUDA they accept objects that export DLPack or `__cuda_array_interface__` (PyTorch, CuPy, Numba, buffers of
this package), and return arrays that export both. They return at once: the device computes asynchronously. Only
`copy_to_device` and `copy_to_host` move arrays between host and device.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from ep.garbage import garbage_waits
from ep.include.suggest import function_meant, unknown_attribute

with garbage_waits(all_is_kept=True):
    from ep.ops.declare.function import FUNCTIONS
    from ep.ops.devices import copy_to_device, copy_to_host
    from ep.ops.full import full
    from ep.ops.names import is_backward

    # each module declares its operators when it is imported
    for _family in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        import_module(f"ep.ops.{_family.stem}")

    from ep.ops.gradients import vjp

# where a module has the name of a function, the name means the function; all others are made when they are used
globals().update({name: FUNCTIONS[name] for name in FUNCTIONS if name in globals()})

__all__ = ["copy_to_device", "copy_to_host", "full", "vjp"]
__all__ += FUNCTIONS
__all__.sort()


def __getattr__(name: str) -> Any:
    if name in FUNCTIONS:
        function = globals()[name] = FUNCTIONS[name]
        return function
    raise unknown_attribute("ep.ops", name, __all__, function_meant)


def __dir__() -> list[str]:
    return [name for name in __all__ if not is_backward(name)]
