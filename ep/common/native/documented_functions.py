"""Functions that Numba compiles as its manual describes it: for other compiled functions, and for C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ep.common.loops.writer import with_loops_written_out
from ep.common.native.documented import Known
from ep.common.native.on_demand import numba
from ep.common.native.pointers import Pointer, argument_types, as_declared, check_base
from ep.common.source import function_of

_OPTIONS: Final[dict[str, Any]] = {"error_model": "numpy"}
_kept: Final[list[Any]] = []
"""All C functions, whose machine code would go with them."""


def inner(function: Callable[..., Any]) -> Known:
    """Return a function as other compiled functions call it, with pointers in place of addresses that it is given."""
    declared, written = argument_types(function), with_loops_written_out(function)

    def called(*args: Any) -> None:
        """Stand for the function in compiled code."""

    def with_pointers(*kinds: Any) -> Callable[..., Any]:
        conversions = dict[int, Any]()
        for number, (kind, expected) in enumerate(zip(kinds, as_declared(kinds, declared), strict=True)):
            if kind != expected:
                if isinstance(kind, Pointer):
                    check_base(kind, expected)
                conversions[number] = expected.element.at
        return _converting(called, len(kinds), conversions) if conversions else written

    numba.extending.overload(called, jit_options=_OPTIONS, strict=False)(with_pointers)
    return Known(called)


def _converting(function: Callable[..., Any], count: int, conversions: dict[int, Any]) -> Callable[..., Any]:
    """Return a function of `count` arguments that converts some of them and calls another one."""
    given = [f"argument{number}" for number in range(count)]
    passed = [f"convert{n}({name})" if n in conversions else name for n, name in enumerate(given)]
    text = f"def call({', '.join(given)}):\n    return function({', '.join(passed)})\n"
    names = {f"convert{number}": convert for number, convert in conversions.items()}
    return function_of(text, "call", __name__, {"function": function, **names})


def c_function(function: Callable[..., Any], result: Any) -> int:
    """Return the address of a function as a C function of words."""
    compiled = numba.cfunc(result(*argument_types(function)), **_OPTIONS)(with_loops_written_out(function))
    _kept.append(compiled)
    return int(compiled.address)
