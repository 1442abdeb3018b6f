"""Where: elements are selected by their size, independent of their type."""

from __future__ import annotations

from ep.common.functor.math_library import Function, MathLibrary, Scalar
from ep.cuda.engine.map.functor import Functor, made_functor
from ep.include.data_type import DataType


def functor(cond: DataType, unit: DataType) -> Functor:
    """x if cond is not 0 else y; cond, unit: what their elements are loaded as, by `unit_of`."""
    return made_functor("where", _choice, (cond, unit, unit), unit, unit.dtype.type)


def _choice(m: MathLibrary) -> Function:
    def f(cond: Scalar, x: Scalar, y: Scalar) -> Scalar:
        return x if cond != 0 else y

    return f
