"""Operations on the values of a function that is written from its syntax tree, and calls of other functions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from numba.core import cgutils, funcdesc, types, typing

from ep.common.native.pointers import Pointer
from ep.cpu.compile.sections import Sections
from ep.cpu.compile.syntax import Unsupported

_OPERATORS: Final[dict[type[ast.AST], Callable[..., Any]]] = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv},
    **{ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.LShift: operator.lshift},
    **{ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor},
    **{ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert, ast.Not: operator.not_},
    **{ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le},
    **{ast.Gt: operator.gt, ast.GtE: operator.ge},
}
_NOT_FOLDED: Final = operator.truediv, operator.lshift, operator.rshift
_MOST_FOLDED: Final = 2**62
NUMBERS: Final = types.Number, types.Boolean
SCALARS: Final = *NUMBERS, Pointer
"""The types of variables and arguments."""
_OF_NUMBERS: Final = min, max, abs
"""The functions of Python whose code is looked up as that of operators."""

_implementations: Final[dict[Any, tuple[Any, Any]]] = {}
"""The signatures and the code of Numba's operations on numbers, by function and types."""


class StaticObject(NamedTuple):
    """An object of Python that is known when the function is compiled."""

    value: Any


class Value(NamedTuple):
    """A value of compiled code, with its Numba type."""

    value: Any
    kind: Any


class Several(NamedTuple):
    """The values of a tuple that is written out."""

    values: tuple[Any, ...]


class Operations:
    """A writer of operations and calls. Their types and their code are those that Numba declares."""

    def __init__(self, sections: Sections, context: Any, typing_context: Any) -> None:
        self._sections, self._builder = sections, sections.builder
        self._context, self._typing = context, typing_context

    def value_of(self, found: Any) -> Value:
        """Return a value of compiled code. A known integer has a literal type."""
        if isinstance(found, Value):
            return found
        if isinstance(found, Several):
            values = [self.value_of(one) for one in found.values]
            kind = types.BaseTuple.from_types([types.unliteral(one.kind) for one in values])
            return Value(self._context.make_tuple(self._builder, kind, [one.value for one in values]), kind)
        if found.value is None:
            return Value(self._context.get_dummy_value(), types.none)
        kind = self._typing.resolve_value_type(found.value)
        if not isinstance(types.unliteral(kind), NUMBERS):
            raise Unsupported
        value = self._context.get_constant_generic(self._builder, types.unliteral(kind), found.value)
        return Value(value, types.maybe_literal(found.value) or kind)

    def _number_of(self, found: Any) -> Value:
        """Return a value, and the address for a pointer."""
        value = self.value_of(found)
        return Value(value.value, types.int64) if isinstance(value.kind, Pointer) else value

    def operation(self, symbol: ast.AST, *operands: Any) -> Any:
        """Return the result of an operator."""
        function = _OPERATORS.get(type(symbol))
        if function is None:
            raise Unsupported
        if all(isinstance(one, StaticObject) and type(one.value) in (int, bool) for one in operands):
            folded = _folded(function, [one.value for one in operands])
            if folded is not None:
                return folded
        return self.of_numbers(function, operands)

    def call(self, function: Any, given: Sequence[Any]) -> Value:
        """Return the result of a function that is known when the caller is compiled."""
        if isinstance(function, type) or function in _OF_NUMBERS:
            return self.of_numbers(function, given)
        kind = self._typing.resolve_value_type(function)
        values = [self.value_of(one) for one in given]
        signature = self._typing.resolve_function_type(kind, tuple(one.kind for one in values), {})
        if signature is None:
            raise Unsupported
        arguments = self._arguments(signature, values)
        if isinstance(kind, types.ExternalFunction):
            described = funcdesc.ExternalFunctionDescriptor(kind.symbol, kind.sig.return_type, kind.sig.args)
            declared = self._context.declare_external_function(self._builder.module, described)
            result = self._context.call_external_function(self._builder, declared, described.argtypes, arguments)
        else:
            result = self._context.get_function(kind, signature)(self._builder, arguments)
        return Value(result, signature.return_type)

    def of_numbers(self, function: Any, given: Sequence[Any]) -> Any:
        """Return the result of an operator, or a function of Python, on numbers."""
        values = [self._number_of(one) for one in given]
        kinds = tuple(types.unliteral(one.kind) for one in values)
        if not all(isinstance(kind, NUMBERS) for kind in kinds):
            raise Unsupported
        if (function, kinds) not in _implementations:
            kind = self._typing.resolve_value_type(function)
            signature = self._typing.resolve_function_type(kind, kinds, {})
            if signature is None:
                raise Unsupported
            _implementations[function, kinds] = signature, self._context.get_function(kind, signature)._imp
        signature, implementation = _implementations[function, kinds]
        arguments = self._arguments(signature, values)
        result = implementation(self._context, self._builder, signature, arguments, loc=None)
        self._context.add_linking_libs(getattr(implementation, "libs", ()))
        return Value(result, signature.return_type)

    def temporary(self, kind: Any) -> Any:
        """Return the place of a new variable of a Numba type."""
        return self._sections.variable(self._context.get_value_type(kind))

    def _arguments(self, signature: Any, values: Sequence[Value]) -> Any:
        """Return the values in the types of a signature, in the form of its parameters."""

        def one(index: int, _: Any, value: Value) -> Any:
            return self._cast(value, signature.args[index])

        def by_default(index: int, _: Any, default: Any) -> Any:
            raise Unsupported

        def several(index: int, _: Any, rest: Sequence[Value]) -> Any:
            cast = [self._cast(value, kind) for value, kind in zip(rest, signature.args[index], strict=True)]
            return cgutils.make_anonymous_struct(self._builder, cast)

        if signature.pysig is None:
            return [self._cast(value, kind) for value, kind in zip(values, signature.args, strict=True)]
        return typing.fold_arguments(signature.pysig, values, {}, one, by_default, several)

    def _cast(self, value: Value, kind: Any) -> Any:
        return self._context.cast(self._builder, value.value, types.unliteral(value.kind), types.unliteral(kind))


def _folded(function: Callable[..., Any], values: Sequence[int]) -> StaticObject | None:
    """Return the result of an operation on integers, or None if compiled code may have another one."""
    if function in _NOT_FOLDED:
        return None
    try:
        result = function(*values)
    except ArithmeticError:
        return None
    return StaticObject(result) if type(result) is bool or abs(result) < _MOST_FOLDED else None
