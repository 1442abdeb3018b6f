"""Writes the tables of docs/array-api.md, which compare `ep.ops` with the array API standard.

Functions of `ep.ops` have the names of the standard, unless an operator declares that it implements another function,
or this file names it.
"""

from __future__ import annotations

from typing import Final

import ep.ops
from ep.include.number_kind import Kind, number_kind
from ep.include.primitive import BinaryOp, UnaryOp
from ep.include.primitive.op_table import OPS, function_name
from ep.ops.declare.operator import operators
from tools.generated import updated, write

_FILE: Final = "docs/array-api.md"

STANDARD: Final = {
    "Creation": "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril "
    "triu zeros zeros_like",
    "Data types": "astype can_cast finfo iinfo isdtype result_type",
    "Elementwise": "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert "
    "bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 "
    "floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal log log1p "
    "log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply "
    "negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh "
    "square sqrt subtract tan tanh trunc",
    "Indexing": "take take_along_axis",
    "Linear algebra": "matmul matrix_transpose tensordot vecdot",
    "Manipulation": "broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll "
    "squeeze stack tile unstack",
    "Searching": "argmax argmin count_nonzero nonzero searchsorted where",
    "Sets": "unique_all unique_counts unique_inverse unique_values",
    "Sorting": "argsort sort",
    "Statistics": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "Utilities": "all any diff",
}
"""The functions of the standard, version 2024.12, by its sections."""

BESIDE_OPERATORS: Final = {
    "asarray": ("copy_to_device", "always a copy; operators take what NumPy makes an array of as it is"),
    "from_dlpack": ("", "operators take what exports DLPack as it is"),
    "full": ("full", "`fill_value` may be an array without axes, which is read on its device"),
    "arange": ("arange", "`device` is a device type"),
    "clip": ("clip", "a number takes the dtype of `x`; a NaN in a bound spreads"),
    "divide": ("divide", "floating-point and complex numbers alone: integers have `floor_divide`, and `div` truncates"),
    "expand_dims": ("expand_dims", "always a copy; several axes, too"),
    "eye": ("eye", "`device` is a device type"),
    "full_like": ("full_like", "on the device of `x`"),
    "linspace": ("linspace", "`device` is a device type"),
    "ones": ("ones", "`device` is a device type"),
    "ones_like": ("ones_like", "on the device of `x`"),
    "reshape": ("reshape", "always a copy"),
    "roll": ("roll", "on a mesh, several axes need `axis`"),
    "squeeze": ("squeeze", "always a copy; without `axis`, all axes of size 1"),
    "std": ("std", "integers and bools are taken as float64; complex numbers, too"),
    "take_along_axis": ("take_along_axis", "`mode` says what becomes of indices out of range"),
    "tensordot": ("tensordot", "on a mesh, one axis of each is summed, beside one at most"),
    "var": ("var", "integers and bools are taken as float64; complex numbers, too"),
    "zeros": ("zeros", "`device` is a device type"),
    "zeros_like": ("zeros_like", "on the device of `x`"),
    "repeat": ("", "`ep.ops.repeat` is another function: it is `tile`, with as many sizes as axes at least"),
}
"""For functions of the standard without an operator: the function that replaces it (or nothing), and the
differences."""

_DIFFERENT: Final = {
    name: (name if name in ep.ops.__all__ else one.name, note)
    for one in operators()
    for name, note in one.standard.items()
}
"""The differences that operators declare."""

_OPS: Final[dict[str, UnaryOp | BinaryOp]] = {function_name(op): op for op in OPS} | {
    row.alias: op for op, row in OPS.items() if row.alias
}
_KINDS: Final = {Kind.BOOL: "bool", Kind.INTEGER: "integer", Kind.FLOAT: "floating", Kind.COMPLEX: "complex"}


def files() -> dict[str, str]:
    """Return the contents of the file with the tables."""
    return updated(
        (_FILE, "array API", "\n\n".join(_section(title, names.split()) for title, names in STANDARD.items()))
    )


def _section(title: str, names: list[str]) -> str:
    rows, missing = [], []
    for name in names:
        found = BESIDE_OPERATORS.get(name) or _DIFFERENT.get(name)
        ours, note = found or (name, "")
        if found or name in ep.ops.__all__:
            rows.append((name, f"`{ours}`" if ours else "", _types(name), note))
        else:
            missing.append(name)
    lines = [f"## {title}", ""]
    if rows:
        headings = ("standard", "`ep.ops`", "types", "differences")
        columns = [position for position in range(4) if any(row[position] for row in rows)]
        table = [headings, ("---",) * 4, *rows]
        lines += [f"| {' | '.join(row[position] for position in columns)} |" for row in table]
        lines += [""] * bool(missing)
    return "\n".join(lines + [f"Not implemented: {', '.join(missing)}."] * bool(missing))


def _types(name: str) -> str:
    """Return the kinds of data types that the function of an op accepts."""
    op = _OPS.get(name)
    if op is None:
        return ""
    kinds = {number_kind(data_type) for data_type in OPS[op].takes}
    return "all" if kinds == set(_KINDS) else ", ".join(word for kind, word in _KINDS.items() if kind in kinds)


if __name__ == "__main__":
    write(files())
