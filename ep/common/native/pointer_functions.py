"""Functions that make pointers in compiled code: see `record.py`."""

from __future__ import annotations

from functools import cache
from typing import Any

from ep.common.native.emitted import emitted, intrinsic
from ep.common.native.on_demand import types


@cache
def pointer_at(element: Any) -> Any:
    """Return compiled code's function (address) that returns a pointer."""

    @emitted(lambda: type(element).pointer_type(element))
    def at(builder: Any, address: Any) -> Any:
        return address

    return at


@cache
def pointer_on_stack(element: Any) -> Any:
    """Return compiled code's function () that returns a pointer to a new element on its caller's stack."""

    @emitted(lambda: type(element).pointer_type(element))
    def on_stack(builder: Any) -> Any:
        return element.on_new_stack(builder, 1)

    return on_stack


@cache
def pointer_to_several(element: Any) -> Any:
    """Return compiled code's function (count), a constant, for several elements."""

    @intrinsic
    def array_on_stack(typing_context: Any, count: Any) -> Any:
        if not isinstance(count, types.IntegerLiteral):
            return None
        number = count.literal_value

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return element.on_new_stack(builder, number)

        return type(element).pointer_type(element)(count), generate

    return array_on_stack
