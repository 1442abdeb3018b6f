"""The table of functor makers: for each op and kind of numbers, the maker of its meaning."""

from collections.abc import Callable
from functools import cache, wraps

from ep.common.functor.math_library import Function, Maker, MathLibrary
from ep.include.number_kind import Kind, number_kind
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.op_table import OPS
from ep.include.primitive.unary_op import UnaryOp

_TABLE: dict[tuple[UnaryOp | BinaryOp, Kind], Maker] = {}


def functor(*ops: UnaryOp | BinaryOp, kinds: tuple[Kind, ...] = (Kind.FLOAT,)) -> Callable[[Maker], Maker]:
    """Declare the decorated maker as the meaning of `ops` on numbers of `kinds`.

    The maker receives a MathLibrary and returns `f(x)` for a UnaryOp, `f(a, b)` for a BinaryOp; if the op has
    attributes, they follow as further arguments, in the type T of the library for float kinds and in float64 for all
    others. Raises ValueError for a kind that the op does not take, and for one that has a functor already.
    """

    def declare(maker: Maker) -> Maker:
        for op in ops:
            for kind in kinds:
                if kind not in map(number_kind, OPS[op].takes):
                    raise ValueError(f"{op} takes no {kind.value} numbers; its row in the table of ops says so")
                if (op, kind) in _TABLE:
                    raise ValueError(
                        f"{op} on {kind.value} numbers has a functor already: {_TABLE[op, kind].__qualname__}"
                    )
                _TABLE[op, kind] = maker
        return maker

    return declare


def plain_functor(*ops: UnaryOp | BinaryOp, kinds: tuple[Kind, ...] = (Kind.FLOAT,)) -> Callable[[Function], Function]:
    """Declare the decorated function itself as the meaning of `ops`, as `functor` does: it needs no MathLibrary."""

    def declare(function: Function) -> Function:
        functor(*ops, kinds=kinds)(_maker_of(function))
        return function

    return declare


@cache
def _maker_of(function: Function) -> Maker:
    @wraps(function)
    def maker(m: MathLibrary) -> Function:
        return function

    return maker


def functor_maker(op: UnaryOp | BinaryOp, kind: Kind) -> Maker:
    """Return the maker that was declared for `op` on numbers of `kind`. Raises LookupError if there is none."""
    maker = _TABLE.get((op, kind))
    if maker is None:
        raise LookupError(f"{op.name} has no functor for {kind.value} numbers; ep/common/functor declares none")
    return maker


@cache
def first_op(op: UnaryOp | BinaryOp, kind: Kind) -> UnaryOp | BinaryOp:
    """Return the first op that was declared with the functor of `op` on numbers of `kind`."""
    maker = functor_maker(op, kind)
    return next(other for (other, of), its in _TABLE.items() if of is kind and its is maker)
