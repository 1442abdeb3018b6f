"""Functions of kernels that are written in instructions: the only module that writes LLVM's code for CUDA.

`written` makes such a function; the function that it is given writes the instructions by the methods of
`Instructions`, on values that only these methods read. With another compiler of kernels, this module and
`numba_cuda.py` change, and no other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Final

from ep.cuda.compile.numba_cuda import cgutils, intrinsic, ir

FLOAT: Final = ir.FloatType()
DOUBLE: Final = ir.DoubleType()
_NOTHING: Final = ir.VoidType()


def integer_of(bits: int) -> Any:
    """Return the kind of integers of so many bits."""
    return ir.IntType(bits)


WORD: Final = integer_of(64)
_INT: Final = integer_of(32)


def size_of(kind: Any) -> int:
    """Return the bytes of a number of a kind."""
    if isinstance(kind, ir.IntType):
        return int(kind.width) // 8
    return 4 if kind == FLOAT else 8


class Instructions:
    """The instructions of one call of a function. types: those of the arguments.

    Arguments of methods are values, or Python's numbers if another argument says of which kind they are.
    """

    def __init__(self, context: Any, builder: Any, given: Sequence[Any]) -> None:
        """given: the types of the arguments."""
        self.types, self._context, self._builder = given, context, builder

    def _value(self, number: Any, like: Any) -> Any:
        return ir.Constant(like.type, number) if isinstance(number, int | float) else number

    # arithmetic

    def add(self, a: Any, b: Any) -> Any:
        """Return a + b."""
        return self._builder.add(a, self._value(b, a))

    def subtract(self, a: Any, b: Any) -> Any:
        """Return a - b."""
        return self._builder.sub(a, self._value(b, a))

    def multiply(self, a: Any, b: Any) -> Any:
        """Return a b."""
        return self._builder.mul(a, self._value(b, a))

    def divide(self, a: Any, b: Any, signed: bool) -> Any:
        """Return a / b of integers, rounded toward zero."""
        return (self._builder.sdiv if signed else self._builder.udiv)(a, b)

    def and_(self, a: Any, b: Any) -> Any:
        """Return the bits that are set in both."""
        return self._builder.and_(a, self._value(b, a))

    def or_(self, a: Any, b: Any) -> Any:
        """Return the bits that are set in one of both."""
        return self._builder.or_(a, self._value(b, a))

    def shift_left(self, a: Any, bits: Any) -> Any:
        """Return a 2^bits."""
        return self._builder.shl(a, self._value(bits, a))

    def shift_right(self, a: Any, bits: Any) -> Any:
        """Return the quotient of an unsigned integer and 2^bits."""
        return self._builder.lshr(a, self._value(bits, a))

    def compare(self, relation: str, a: Any, b: Any, signed: bool = False) -> Any:
        """Return whether a relation of integers holds, such as "<"."""
        return (self._builder.icmp_signed if signed else self._builder.icmp_unsigned)(relation, a, self._value(b, a))

    def compare_reals(self, relation: str, a: Any, b: Any) -> Any:
        """Return whether a relation of real numbers holds; none holds for a NaN."""
        return self._builder.fcmp_ordered(relation, a, b)

    def is_nonzero(self, a: Any) -> Any:
        """Return whether a number differs from 0, as a NaN does."""
        if isinstance(a.type, ir.IntType):
            return self._builder.icmp_unsigned("!=", a, self._value(0, a))
        return self._builder.fcmp_unordered("!=", a, self._value(0.0, a))

    def is_nan(self, a: Any) -> Any:
        """Return whether a real number is a NaN."""
        return self._builder.fcmp_unordered("uno", a, a)

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        """Return a if a condition holds, else b."""
        return self._builder.select(condition, a, b)

    # kinds of numbers

    def kind_of(self, a: Any) -> Any:
        """Return the kind of a value."""
        return a.type

    def constant(self, kind: Any, number: Any) -> Any:
        """Return a constant."""
        return ir.Constant(kind, number)

    def extend(self, a: Any, kind: Any, signed: bool = False) -> Any:
        """Return an integer as one of more bits, or of as many."""
        if a.type == kind:
            return a
        return (self._builder.sext if signed else self._builder.zext)(a, kind)

    def truncate(self, a: Any, kind: Any) -> Any:
        """Return the low bits of an integer."""
        return a if a.type == kind else self._builder.trunc(a, kind)

    def bits(self, a: Any, kind: Any) -> Any:
        """Return the bits of a value as another kind of value."""
        return a if a.type == kind else self._builder.bitcast(a, kind)

    def to_float(self, a: Any) -> Any:
        """Return a double as a float."""
        return self._builder.fptrunc(a, FLOAT)

    def to_double(self, a: Any) -> Any:
        """Return a float as a double."""
        return self._builder.fpext(a, DOUBLE)

    def cast(self, a: Any, given: Any, to: Any) -> Any:
        """Return a number of a Numba type as one of another."""
        return self._context.cast(self._builder, a, given, to)

    # numbers of several parts

    def parts(self, number: Any, numba_type: Any) -> tuple[Any, Any]:
        """Return the real and the imaginary part of a complex number."""
        made = self._context.make_complex(self._builder, numba_type, value=number)
        return made.real, made.imag

    def complex_of(self, real: Any, imag: Any, numba_type: Any) -> Any:
        """Return a complex number."""
        made = self._context.make_complex(self._builder, numba_type)
        made.real, made.imag = real, imag
        return made._getvalue()

    def tuple_of(self, values: Sequence[Any], numba_type: Any) -> Any:
        """Return a tuple."""
        return self._context.make_tuple(self._builder, numba_type, values)

    def items_of(self, made: Any, count: int) -> list[Any]:
        """Return the items of a tuple."""
        return list(cgutils.unpack_tuple(self._builder, made, count))

    # memory

    def pointer(self, address: Any, kind: Any, count: int, space: int) -> Any:
        """Return a pointer to vectors of `count` numbers, or to single ones; address: a word; space: its number."""
        vector = ir.VectorType(kind, count) if count > 1 else kind
        return self._builder.inttoptr(address, vector.as_pointer(space))

    def load(self, pointer: Any, place: int, count: int, alignment: int) -> list[Any]:
        """Return the numbers of a vector; place: its number from the pointer on."""
        value = self._builder.load(self._target(pointer, place), align=alignment)
        if count == 1:
            return [value]
        return [self._builder.extract_element(value, ir.Constant(_INT, lane)) for lane in range(count)]

    def store(self, pointer: Any, place: int, values: Sequence[Any], alignment: int) -> None:
        """Write the numbers of a vector."""
        value = values[0]
        if len(values) > 1:
            value = ir.Constant(ir.VectorType(value.type, len(values)), ir.Undefined)
            for lane, one in enumerate(values):
                value = self._builder.insert_element(value, one, ir.Constant(_INT, lane))
        self._builder.store(value, self._target(pointer, place), align=alignment)

    def address(self, pointer: Any, place: int) -> Any:
        """Return the address of a vector, as a word."""
        return self._builder.ptrtoint(self._target(pointer, place), WORD)

    def _target(self, pointer: Any, place: int) -> Any:
        return self._builder.gep(pointer, [ir.Constant(_INT, place)])

    # other instructions

    def ptx(self, text: str, constraints: str, kind: Any, *values: Any, effects: bool = False) -> Any:
        """Return the result of inline PTX, or nothing if `kind` is None. effects: whether it does more than that."""
        function_type = ir.FunctionType(kind or _NOTHING, [value.type for value in values])
        result = self._builder.asm(function_type, text, constraints, values, side_effect=effects)
        return None if kind is None else result

    def call(self, name: str, kind: Any, *values: Any) -> Any:
        """Return the result of a function of NVVM."""
        function_type = ir.FunctionType(kind, [value.type for value in values])
        return self._builder.call(cgutils.get_or_insert_function(self._builder.module, function_type, name), values)


def written(result: Any, *arguments: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a function of kernels from `write(code, *values)`, which writes its instructions and returns its result.

    result, arguments: their Numba types.
    """
    return written_for(lambda *given: (result, arguments))


def written_for(typed: Callable[..., tuple[Any, Sequence[Any]] | None]) -> Callable[[Callable[..., Any]], Any]:
    """Make functions as `written` does, whose types depend on those of the arguments.

    typed: (types of the arguments) -> the type of the result, and those that the arguments are converted to; None for
        arguments that the function does not take.
    """

    def made(write: Callable[..., Any]) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            result = write(Instructions(context, builder, signature.args), *values)
            return context.get_dummy_value() if result is None else result

        @wraps(write)  # Numba reads the names of the arguments, too
        def with_types(typing_context: Any, *given: Any) -> Any:
            found = typed(*given)
            return found and (found[0](*found[1]), generate)

        return intrinsic(with_types)

    return made
