"""Vectors as Numba knows them: their types, operators and lanes. `vector.py` shows how they are used."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from llvmlite import ir
from numba import from_dtype, types
from numba.extending import lower_builtin, lower_cast, models, register_model, type_callable

from ep.common.native.pointers import typed
from ep.cpu.compile import vectors
from ep.cpu.compile.memory import arithmetic_type
from ep.cpu.compile.vector_class import VectorClass, mask

_COMPARED: Final[dict[Callable[..., Any], str]] = {
    **{operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">="},
    **{operator.eq: "==", operator.ne: "!="},
}
_ARITHMETIC: Final = operator.add, operator.sub, operator.mul
_OF_BITS: Final = operator.and_, operator.or_, operator.xor
_SHIFTS: Final = operator.lshift, operator.rshift
BINARY: Final = (*_COMPARED, *_ARITHMETIC, operator.truediv, *_OF_BITS, *_SHIFTS)
"""The operators of two vectors, or of a vector and a number."""
_IN_PLACE: Final = {
    **{operator.iadd: operator.add, operator.isub: operator.sub, operator.imul: operator.mul},
    **{operator.itruediv: operator.truediv, operator.iand: operator.and_, operator.ior: operator.or_},
    **{operator.ixor: operator.xor, operator.ilshift: operator.lshift, operator.irshift: operator.rshift},
}
"""The operators of augmented assignments, which Numba knows apart, and what they compute."""
UNARY: Final = operator.neg, operator.invert


class VectorType(types.Type):
    """The type of a vector or a mask. element: its class."""

    def __init__(self, element: Any) -> None:
        self.element = element
        super().__init__(name=element.__qualname__)

    @property
    def key(self) -> Any:
        """What a type is known by."""
        return self.element

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        """Let a number stand for a vector of copies of it."""
        if not isinstance(other, types.Number | types.Boolean):
            return None
        return typingctx.can_convert(types.float64, types.int64)  # an unsafe conversion


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        models.PrimitiveModel.__init__(self, manager, kind, kind.element.llvm_type)


def value_type(element: VectorClass) -> Any:
    """Return the type of values of a class: a vector, or a number."""
    return _number_type(element) if element.lanes is None else VectorType(element)


def lane_type(kind: VectorType) -> Any:
    """Return the type of a lane of a vector."""
    return _number_type(kind.element)


def _number_type(element: VectorClass) -> Any:
    if element.data_type is None:
        return types.boolean
    return from_dtype(arithmetic_type(element.data_type))


def class_of(kind: Any) -> Any:
    """Return the class that an argument of compiled code is. Raises TypeError if it is none of vectors."""
    found = getattr(kind, "records", None)
    if not isinstance(found, VectorClass):
        raise TypeError(f"kind is {kind}; it must be a class of vectors")
    return found


def is_vector(kind: Any) -> bool:
    """Return whether values of a type are vectors of numbers."""
    return isinstance(kind, VectorType) and kind.element.data_type is not None


def common(*kinds: Any) -> Any:
    """Return the type of vectors among types, all others of which are of numbers, or None."""
    found = {kind for kind in kinds if isinstance(kind, VectorType)}
    others = [kind for kind in kinds if not isinstance(kind, VectorType)]
    if len(found) != 1 or not all(isinstance(kind, types.Number | types.Boolean) for kind in others):
        return None
    return found.pop()


@typed(lower_cast(types.Number, VectorType))
@typed(lower_cast(types.Boolean, VectorType))
def _as_vector(context: Any, builder: Any, kind: Any, expected: VectorType, value: Any) -> Any:
    element = expected.element
    if isinstance(value, ir.Constant) and not isinstance(value.constant, str):
        return vectors.constant(element.llvm_type, float(value.constant) if element.is_real else value.constant)
    return vectors.splat(builder, context.cast(builder, value, kind, _number_type(element)), element.lanes)


def result_of(function: Callable[..., Any], kinds: tuple[Any, ...]) -> Any:
    """Return the signature of an operator for values of these types, or None if it has none for them."""
    found = common(*kinds)
    if found is None or not _has(found.element, function):
        return None
    result = VectorType(mask(found.element.lanes)) if function in _COMPARED else found
    return result(*[found] * len(kinds))


def _has(element: VectorClass, function: Callable[..., Any]) -> bool:
    if function in _OF_BITS or function is operator.invert:
        return not element.is_real
    if function in _SHIFTS:
        return element.is_integer
    return element.is_real or (element.is_integer and function is not operator.truediv)


def write(builder: Any, function: Callable[..., Any], element: VectorClass, x: Any, y: Any = None) -> Any:
    """Write the instructions of an operator."""
    if function is operator.neg:
        return builder.fneg(x) if element.is_real else builder.neg(x)
    if function is operator.invert:
        return builder.not_(x)
    if function in _COMPARED:
        order = _COMPARED[function]
        if not element.is_real:
            return (builder.icmp_signed if element.is_signed else builder.icmp_unsigned)(order, x, y)
        return (builder.fcmp_unordered if order == "!=" else builder.fcmp_ordered)(order, x, y)
    if function is operator.rshift:
        return (builder.ashr if element.is_signed else builder.lshr)(x, y)
    if element.is_real:
        names = {operator.add: "fadd", operator.sub: "fsub", operator.mul: "fmul", operator.truediv: "fdiv"}
    else:
        names = {
            **{operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.lshift: "shl"},
            **{operator.and_: "and_", operator.or_: "or_", operator.xor: "xor"},
        }
    return getattr(builder, names[function])(x, y)


def _declare(symbol: Callable[..., Any], function: Callable[..., Any], *operands: Any) -> None:
    """Declare an operator for Numba. symbol: how Numba knows it. function: what it computes."""

    @typed(type_callable(symbol))
    def type_of(context: Any) -> Any:
        if len(operands) == 1:
            return lambda x: result_of(function, (x,))
        return lambda x, y: result_of(function, (x, y))

    @typed(lower_builtin(symbol, *operands))
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return write(builder, function, signature.args[0].element, *args)


for _function in BINARY:
    _declare(_function, _function, VectorType, VectorType)
for _symbol, _function in _IN_PLACE.items():
    _declare(_symbol, _function, VectorType, VectorType)
for _operator in UNARY:
    _declare(_operator, _operator, VectorType)


def lane(builder: Any, value: Any, number: int) -> Any:
    """Write the instructions that return a lane of a vector."""
    return builder.extract_element(value, vectors.INT(number))


@typed(type_callable(operator.getitem))
def _type_of_lane(context: Any) -> Any:
    def type_of(value: Any, index: Any) -> Any:
        if isinstance(value, VectorType) and isinstance(index, types.IntegerLiteral):
            return lane_type(value)(value, index)
        return None

    return type_of


@typed(lower_builtin(operator.getitem, VectorType, types.IntegerLiteral))
def _lane(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return lane(builder, args[0], signature.args[1].literal_value)
