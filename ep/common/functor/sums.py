"""The sum of several elements: additions of two, one after the other from the left."""

from functools import cache

from ep.common.functor.math_library import Function, Maker, MathLibrary, Scalar
from ep.common.functor.table import functor_maker
from ep.include.number_kind import Kind
from ep.include.primitive.binary_op import BinaryOp


@cache
def sum_of(num_operands: int, kind: Kind) -> Maker:
    """Return the maker of the sum of two or more numbers of a kind, in the library's arithmetic throughout."""
    plus = functor_maker(BinaryOp.kAdd, kind)
    if num_operands == 2:
        return plus

    def maker(m: MathLibrary) -> Function:
        add, rest = m.use(plus), m.use(sum_of(num_operands - 1, kind))

        def f(*values: Scalar) -> Scalar:
            return add(rest(*values[:-1]), values[-1])

        return f

    return maker
