"""Operations on the values of a function that is written from its syntax tree, and calls of other functions."""

from __future__ import annotations

import ast
import inspect
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from numba.core import cgutils, types
from numba.core.typing.templates import fold_arguments

from ep.common.deferred import Inlined
from ep.common.native.fields import ElementClass, OtherElements
from ep.common.native.numba_function import NumbaFunction
from ep.common.native.pointers import Pointer
from ep.cpu.compile.sections import Sections
from ep.cpu.compile.syntax import Unsupported
from ep.cpu.compile.vector_types import VectorType, result_of, write


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
SCALARS: Final = *NUMBERS, Pointer, VectorType
"""The types of variables and arguments."""
_OF_NUMBERS: Final = min, max, abs
"""The functions of Python whose code is looked up as that of operators."""

_STARRED: Final = types.StarArgTuple, types.StarArgUniTuple
NONE_NAMED: Final[Mapping[str, Any]] = {}

_PLAIN: Final = int, bool, type(None)
_constants: Final[dict[Any, Value]] = {}
"""The values of known integers."""

_implementations: Final[dict[Any, tuple[Any, Any]]] = {}
"""The signatures and the code of Numba's operations on numbers, by function and types."""


class Operations(ABC):
    """A writer of operations and calls. Their types and their code are those that Numba declares."""

    def __init__(self, sections: Sections, context: Any, typing_context: Any) -> None:
        self._sections, self._builder = sections, sections.builder
        self._context, self._typing = context, typing_context
        self.num_vectors = 0  # how often code has used a vector, or a pointer to some

    def value_of(self, found: Any) -> Value:
        """Return a value of compiled code. A known integer has a literal type."""
        if isinstance(found, Value):
            return found
        if isinstance(found, Several):
            values = [self.value_of(one) for one in found.values]
            kind = types.BaseTuple.from_types([types.unliteral(one.kind) for one in values])
            return Value(self._context.make_tuple(self._builder, kind, [one.value for one in values]), kind)
        key = type(found.value), found.value
        if key[0] in _PLAIN and key in _constants:
            return _constants[key]
        value = self._constant(found)
        if key[0] in _PLAIN:
            _constants[key] = value
        return value

    def _constant(self, found: StaticObject) -> Value:
        """Return a known object as a value."""
        if found.value is None:
            return Value(self._context.get_dummy_value(), types.none)
        kind = self._typing.resolve_value_type(found.value)
        if isinstance(found.value, ElementClass):
            return Value(self._context.get_dummy_value(), kind)
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
        if any(isinstance(one, Value) and isinstance(one.kind, VectorType) for one in operands):
            return self._of_vectors(function, [self.value_of(one) for one in operands])
        return self.of_numbers(function, operands)

    def _of_vectors(self, function: Any, values: Sequence[Value]) -> Value:
        signature = result_of(function, tuple(types.unliteral(one.kind) for one in values))
        if signature is None:
            raise Unsupported
        cast = [self._cast(one, signature.args[0]) for one in values]
        return Value(write(self._builder, function, signature.args[0].element, *cast), signature.return_type)

    def call(self, function: Any, given: Sequence[Any], named: Mapping[str, Any]) -> Value:
        """Return the result of a function that is known when the caller is compiled. named: keyword arguments."""
        if not named and (isinstance(function, type) or function in _OF_NUMBERS):
            return self.of_numbers(function, given)
        if isinstance(function, Inlined):
            return self.inlined(function, given, named)
        values, others = [self.value_of(one) for one in given], {key: self.value_of(one) for key, one in named.items()}
        compiled = getattr(function, "compiled", None)
        if isinstance(compiled, NumbaFunction):
            signature, write = self._code_of(compiled, values, others)
            result = write(self._context, self._builder, signature, self._arguments(signature, values, others))
            return Value(result, signature.return_type)
        kind = self._typing.resolve_value_type(function)
        kinds = {key: one.kind for key, one in others.items()}
        signature = self._typing.resolve_function_type(kind, tuple(one.kind for one in values), kinds)
        if signature is None:
            raise Unsupported
        arguments = self._arguments(signature, values, others)
        return Value(self._context.get_function(kind, signature)(self._builder, arguments), signature.return_type)

    @abstractmethod
    def inlined(self, function: Inlined, given: Sequence[Any], named: Mapping[str, Any]) -> Value:
        """Return the result of a function that becomes a part of this one."""

    def _code_of(self, function: NumbaFunction, values: Sequence[Value], named: Mapping[str, Value]) -> tuple[Any, Any]:
        """Return the signature and the code of a function that `emitted.py` has made, as Numba looks them up."""
        kinds, names = tuple(one.kind for one in values), tuple((key, one.kind) for key, one in named.items())
        if (kinds, names) not in function.calls:
            function.calls[kinds, names] = self._typed(function, kinds, dict(names))
        signature, code = function.calls[kinds, names]
        if signature is None:
            raise Unsupported
        return signature, code

    def _typed(self, function: NumbaFunction, kinds: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the same for types that are first met; None and None if the function does not take them."""
        plain = list(map(types.unliteral, kinds)), {name: types.unliteral(kind) for name, kind in named.items()}
        for given, others in (plain, (kinds, named)):
            if (found := function.typed(self._typing, *given, **others)) is not None:
                signature, code = found
                _, *parameters = inspect.signature(function.typed).parameters.values()
                return signature.replace(pysig=inspect.Signature(parameters)), code
        return None, None

    def of_numbers(self, function: Any, given: Sequence[Any]) -> Value:
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

    def _arguments(self, signature: Any, values: Sequence[Value], named: Mapping[str, Value] = NONE_NAMED) -> Any:
        """Return the values in the types of a signature, in the form of its parameters."""

        def one(index: int, _: Any, value: Value) -> Any:
            return self._cast(value, signature.args[index])

        def by_default(index: int, _: Any, default: Any) -> Any:
            return self._context.get_constant_generic(self._builder, signature.args[index], default)

        def several(index: int, _: Any, rest: Sequence[Value]) -> Any:
            cast = [self._cast(value, kind) for value, kind in zip(rest, signature.args[index], strict=True)]
            return cgutils.make_anonymous_struct(self._builder, cast)

        kinds = signature.args
        is_whole = len(values) == len(kinds) and not named and not isinstance(kinds[-1] if kinds else None, _STARRED)
        if is_whole or signature.pysig is None:
            if named:
                raise Unsupported
            return [self._cast(value, kind) for value, kind in zip(values, kinds, strict=True)]
        if not named and len(values) < len(kinds) and not isinstance(kinds[-1], _STARRED):
            given = [self._cast(value, kind) for value, kind in zip(values, kinds, strict=False)]
            defaults = [each.default for each in signature.pysig.parameters.values()][len(values) :]
            return [*given, *(by_default(number, None, one) for number, one in enumerate(defaults, len(values)))]
        return fold_arguments(signature.pysig, values, dict(named), one, by_default, several)

    def _cast(self, value: Value, kind: Any) -> Any:
        self.num_vectors += isinstance(kind, VectorType) or isinstance(getattr(kind, "element", None), OtherElements)
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
