"""matmul_integer and conv_integer: products of integers of 8 bits, with sums of 32 bits."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Sequence
from functools import wraps
from typing import Any, Final

from ep.common.primitive.broadcast import Dims
from ep.common.primitive.windows import is_depthwise
from ep.include.arrays import RESULT, Array, ArrayLike, Arrays, Operands, Placeholder
from ep.include.data_type import DataType, as_data_type
from ep.include.errors import ArgumentTypeError
from ep.include.number_kind import BYTES
from ep.include.primitive.blas import BlasTransposeType
from ep.include.primitive.cast import CastFactory
from ep.include.primitive.expression import ExpressionFactory
from ep.include.primitive.fill import FillFactory
from ep.include.primitive.structure import Convolution, MatrixProduct, Step, Structure
from ep.ops.conv import MATMUL, conv_attributes, conv_local, conv_shapes, conv_signatures, product
from ep.ops.declare.function import FUNCTIONS, Tensor, operator
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import Always
from ep.ops.devices import arrays_of, as_array
from ep.ops.kernels import Calls, Launch, Plan, Subject, Temporary, Value, View, data_type, launching, primitive_exists
from ep.ops.kernels.conditions import Value as SubjectValue
from ep.ops.matmul import check_axes, launch_dims, product_depth, product_shape, product_signatures
from ep.ops.operands import as_operands
from ep.ops.sbp_signatures import P
from ep.ops.terms import viewed
from ep.ops.window_kernel import MOVES, WindowMoves
from ep.ops.windows import windows
from ep.sbp import Problem, SbpSignature

_MOST: Final = 2**31 - 1
_SUMS: Final = DataType.kInt32
_MATRICES: Final = {"transpose_x1": BlasTransposeType.N, "transpose_x2": BlasTransposeType.N}
_OF_MATRICES: Final = ("a", "b")


_MOST_IN_FLOAT32: Final = 2**24 // 255**2
"""The most products of differences of bytes whose sums float32 has exactly, in any order."""


def check_depth(k: int, factors: Sequence[tuple[str, Any, bool]]) -> None:
    """Raise ValueError if a sum of k products may be no int32.

    factors: the name and the array of each, and whether a number is subtracted from its elements.
    """
    largest = [255 if moved or one.dtype.kind == "u" else 128 for _, one, moved in factors]
    most = _MOST // math.prod(largest)
    if k > most:
        given = " and ".join(
            f"{name} of {one.dtype}{' with a zero point' if moved else ''}" for name, one, moved in factors
        )
        raise ValueError(f"k is {k}, the number of products in a sum; sums of {given} are int32 up to k = {most}")


def _signatures_of_sums(rows: Any) -> Any:
    """Return the rows without those of partial operands: their sums are modulo 256, and those of results are not."""

    def signatures(problem: Problem) -> Iterator[SbpSignature]:
        return (one for one in rows(problem) if P not in one.inputs)

    return signatures


@operator(
    shape=lambda shapes, attributes: product_shape(shapes, attributes, _OF_MATRICES),
    dtype=Always(_SUMS),
    signatures=_signatures_of_sums(product_signatures),
    joins=MatrixProduct,
)
def matmul_integer(a: Tensor, b: Tensor) -> Attributes:
    """Return the int32 product of matrices of 8-bit integers, as ONNX's MatMulInteger.

    a, b: arrays of int8 or uint8, each of its own type, with the shapes of `matmul`.
    a_zero_point: a number of the dtype of a, which is subtracted from all its elements first; or one for each row, an
        array of shape (M,) for a matrix and (..., M, 1) for others. None for 0.
    b_zero_point: the same for b, with one for each column: shape (N,), or (..., 1, N).
    out: where to put the result, an array of its shape and int32.

    Sums are exact. The products with zero points are separate operators, which `ep.fuse` joins with the product. There
    is no gradient. Raises TypeError for a zero point of another dtype, ValueError for shapes that do not fit, and for a
    k, the number of products in a sum, with which a sum might be no int32: that is more than 33,025 for uint8.
    """
    shapes = tuple(a.shape), tuple(b.shape)
    for name, shape in zip(_OF_MATRICES, shapes, strict=True):
        check_axes(name, shape)
    check_depth(product_depth(shapes, _MATRICES, _OF_MATRICES), (("a", a, False), ("b", b, False)))
    return _MATRICES


@operator(
    shape=conv_shapes,
    dtype=Always(_SUMS),
    signatures=_signatures_of_sums(conv_signatures),
    local=conv_local,
    joins=Convolution,
)
def conv_integer(
    x: Tensor, w: Tensor, strides: Any = 1, pads: Any = 0, dilations: Any = 1, groups: int = 1
) -> Attributes:
    """Return the int32 convolution of `x` with `w`, arrays of 8-bit integers, as ONNX's ConvInteger.

    x: array of int8 or uint8, of shape (N, C, sizes...), with one to three spatial axes.
    w: array of int8 or uint8, of shape (M, C / groups, kernel...).
    x_zero_point: a number of the dtype of x, which is subtracted from all its elements first; padding counts as this
        number, and adds 0. None for 0.
    w_zero_point: a number of the dtype of w, or one for each filter, an array of shape (M,). None for 0.
    strides, pads, dilations, groups: as of `conv`.
    out: where to put the result, an array of its shape and int32.

    Sums are exact. There is no gradient. Raises TypeError for a zero point of another dtype, ValueError for shapes and
    attributes that do not fit, and for a k, the number of products in a sum, with which a sum might be no int32.
    """
    attributes = conv_attributes(tuple(x.shape), tuple(w.shape), strides, pads, dilations, groups)
    check_depth(math.prod(w.shape[1:]), (("x", x, False), ("w", w, False)))
    return {**attributes, "is_depthwise": is_depthwise(tuple(w.shape), attributes["groups"])}


def _read(
    operands: Sequence[ArrayLike], points: Sequence[ArrayLike | None], names: Sequence[str]
) -> tuple[Operands, list[Any], list[Any]]:
    """Return the reader of operands, these as arrays, and their zero points as int32 arrays or None. Raises TypeError
    for operands that are not of bytes."""
    of_points = [f"{name}_zero_point" for name in names]
    given = [(one, name) for one, name in zip(points, of_points, strict=True) if one is not None]
    arrays = arrays_of([*operands, *(one for one, _ in given)], [*names, *(name for _, name in given)])
    read, found = [], list[Any]()
    for one, point, name, of_point in zip(operands, points, names, of_points, strict=True):
        if point is None:
            buffer = arrays.as_buffer(one, name)
            found.append(None)
        else:
            buffer, number = as_operands(arrays, one, point, (name, of_point))
            if as_data_type(buffer.dtype) not in BYTES:
                raise ArgumentTypeError(name, f"has dtype {buffer.dtype}; it must be int8 or uint8")
            found.append(FUNCTIONS["cast"](as_array(arrays, number, of_point), "int32"))
        read.append(as_array(arrays, buffer, name))
    return arrays, read, found


def _fitting(point: Any, name: str, shapes: Sequence[Dims], beside: str, other: Dims) -> Any:
    """Return a zero point in the last one of these shapes, or as a single number."""
    given = tuple(point.shape)
    if given in ((), (1,)):
        return viewed(point, ())
    if given not in shapes:
        wanted = " or ".join(map(str, dict.fromkeys(((), *shapes))))
        raise ValueError(f"{name} has shape {given}; {beside} of shape {other} needs {wanted}")
    return viewed(point, shapes[-1])


def _moved(x: Any, point: Any) -> Any:
    """Return x minus a zero point, in float32."""
    real = FUNCTIONS["cast"](x, "float32")
    return real if point is None else FUNCTIONS["sub"](real, FUNCTIONS["cast"](point, "float32"))


def _padded(x: Any, point: Any, pads: Dims) -> Any:
    """Return x with its zero point around its spatial axes, as many times as `pads` says."""
    before, after = pads[: len(pads) // 2], pads[len(pads) // 2 :]
    point = FUNCTIONS["cast"](point, x.dtype)
    widths = [(0, 0), (0, 0), *zip(before, after, strict=True)]
    return FUNCTIONS["add"](FUNCTIONS["pad"](FUNCTIONS["sub"](x, point), widths), point)  # modulo 256


def _difference(result: Any, terms: Sequence[Any], arrays: Operands, out: Any) -> Any:
    """Return a result minus terms, modulo 2^32."""
    target = result if isinstance(arrays, Arrays) else None  # no other code has the result yet
    for place, term in enumerate(terms):
        to = out if out is not None and place == len(terms) - 1 else target
        result = FUNCTIONS["sub"](result, term) if to is None else FUNCTIONS["sub"](result, term, out=to)
    return result


def _shown_with(function: Any, wrapper: Any, names: Sequence[str]) -> Any:
    """Return a wrapper with the signature of the function and zero points behind the operands."""
    signature = inspect.signature(function)
    first, second, *rest = signature.parameters.values()
    points = [
        inspect.Parameter(f"{name}_zero_point", first.kind, default=None, annotation="ArrayLike | None")
        for name in names
    ]
    wrapper.__signature__ = signature.replace(parameters=[first, second, *points, *rest])
    return wrapper


def _matmul_with_zero_points(function: Any) -> Any:
    @wraps(function)
    def matmul_integer(
        a: ArrayLike,
        b: ArrayLike,
        a_zero_point: ArrayLike | None = None,
        b_zero_point: ArrayLike | None = None,
        *,
        out: Array | None = None,
    ) -> Array:
        if a_zero_point is None and b_zero_point is None:
            return function(a, b) if out is None else function(a, b, out=out)
        arrays, (a, b), (of_a, of_b) = _read((a, b), (a_zero_point, b_zero_point), _OF_MATRICES)
        result, add, mul = function(a, b), FUNCTIONS["sum"], FUNCTIONS["mul"]
        k, is_row, is_column = a.shape[-1], len(a.shape) == 1, len(b.shape) == 1
        check_depth(k, (("a", a, of_a is not None), ("b", b, of_b is not None)))
        rows, columns = viewed(a, (1, k)) if is_row else a, viewed(b, (k, 1)) if is_column else b

        def term(point: Any, sums: Any) -> Any:
            """Return a product with the axes of the result: those that it lacks have size 1 in both factors."""
            found = mul(sums, point)
            *batch, m, n = found.shape
            return viewed(found, (*batch, *([] if is_row else [m]), *([] if is_column else [n])))

        terms = []
        if of_a is not None:
            shape = tuple(rows.shape)
            shapes = [] if is_row else [shape[:-1]] * (len(shape) == 2) + [(*shape[:-1], 1)]
            of_a = _fitting(of_a, "a_zero_point", shapes, "a", tuple(a.shape))
            terms.append(term(of_a, add(columns, -2, "int32", keepdims=True)))
        if of_b is not None:
            shape = tuple(columns.shape)
            shapes = [] if is_column else [shape[1:]] * (len(shape) == 2) + [(*shape[:-2], 1, shape[-1])]
            of_b = _fitting(of_b, "b_zero_point", shapes, "b", tuple(b.shape))
            sums = add(rows, -1, "int32", keepdims=True)
            terms.append(term(of_b, sums if of_a is None else FUNCTIONS["sub"](sums, mul(of_a, k))))
        return _difference(result, terms, arrays, out)

    return _shown_with(function, matmul_integer, _OF_MATRICES)


def _conv_with_zero_points(function: Any) -> Any:
    @wraps(function)
    def conv_integer(
        x: ArrayLike,
        w: ArrayLike,
        x_zero_point: ArrayLike | None = None,
        w_zero_point: ArrayLike | None = None,
        strides: Any = 1,
        pads: Any = 0,
        dilations: Any = 1,
        groups: int = 1,
        *,
        out: Array | None = None,
    ) -> Array:
        given = {"strides": strides, "pads": pads, "dilations": dilations, "groups": groups}
        is_plain = x_zero_point is None and w_zero_point is None
        if is_plain and getattr(w, "shape", ())[1:2] != (1,):  # it may be depthwise
            return function(x, w, **given) if out is None else function(x, w, **given, out=out)
        arrays, (x, w), (of_x, of_w) = _read((x, w), (x_zero_point, w_zero_point), ("x", "w"))
        shape, of_filters, mul, total = tuple(x.shape), tuple(w.shape), FUNCTIONS["mul"], FUNCTIONS["sum"]
        found = conv_attributes(shape, of_filters, **given)
        filters, groups, spatial = of_filters[0], found["groups"], (1,) * (len(shape) - 2)
        k = math.prod(of_filters[1:])
        check_depth(k, (("x", x, of_x is not None), ("w", w, of_w is not None)))
        if of_x is not None:
            of_x = _fitting(of_x, "x_zero_point", [], "x", shape)
        if of_w is not None:
            of_w = _fitting(of_w, "w_zero_point", [(filters,)], "w", of_filters)
            of_w = of_w if of_w.shape else FUNCTIONS["expand"](of_w, (filters,))
        are_bytes = as_data_type(x.dtype) in BYTES and as_data_type(w.dtype) in BYTES
        if are_bytes and is_depthwise(of_filters, groups) and k <= _MOST_IN_FLOAT32:
            x = _moved(x, of_x)
            w = _moved(w, None if of_w is None else viewed(of_w, (filters, 1, *spatial)))
            sums = FUNCTIONS["conv"](x, w, **given)
            return FUNCTIONS["cast"](sums, "int32", **({} if out is None else {"out": out}))
        if is_plain:
            return function(x, w, **given) if out is None else function(x, w, **given, out=out)
        if of_x is not None and windows(shape[2:], of_filters[2:], found).has_padding:
            x, given["pads"] = _padded(x, of_x, found["pads"]), 0
        result, terms = function(x, w, **given), []
        if of_x is not None:
            sums = viewed(total(w, (*range(1, len(shape)),), "int32"), (1, filters, *spatial))
            terms.append(mul(sums, of_x))
        if of_w is not None:
            sums = function(x, FUNCTIONS["ones_like"](FUNCTIONS["slice"](w, (0, groups))), **given)  # a filter for each
            if of_x is not None:
                sums = FUNCTIONS["sub"](sums, mul(of_x, k))
            batch, in_group, *counts = sums.shape
            of_w = viewed(of_w, (in_group, filters // groups, *spatial))
            term = mul(viewed(sums, (batch, in_group, 1, *counts)), of_w)
            terms.append(viewed(term, (batch, filters, *counts)))
        return _difference(result, terms, arrays, out)

    return _shown_with(function, conv_integer, ("x", "w"))


matmul_integer = FUNCTIONS["matmul_integer"] = _matmul_with_zero_points(matmul_integer)
conv_integer = FUNCTIONS["conv_integer"] = _conv_with_zero_points(conv_integer)


def _widened(steps: list[Any], cast: Any, place: int, shape: Dims) -> Value:
    """Add the conversion of an operand to steps, and return its result."""
    wide = Temporary(shape, _SUMS.dtype)
    steps.append(Launch(cast, Placeholder(place), wide, math.prod(shape)))
    return wide


def _casts(*names: str) -> list[Any]:
    return [primitive_exists(CastFactory, data_type(name), _SUMS) for name in names]


def _bytes(x: str, y: str) -> Any:
    return data_type(x).one_of(*BYTES) & data_type(y).one_of(*BYTES)


class _Product(SubjectValue):
    """The structure of a product of two operands. names: theirs. make: makes its op of attributes."""

    def __init__(self, names: Sequence[str], make: Any, *attributes: str) -> None:
        self._names, self._make, self._attributes = names, make, attributes

    def attributes(self) -> frozenset[str]:
        return frozenset(self._attributes)

    def of(self, subject: Subject) -> Structure:
        step = Step(self._make(*(subject.attributes[name] for name in self._attributes)), (0, 1), _SUMS)
        return Structure(tuple(subject.data_types[name] for name in self._names), (), (step,), (2,))

    def __str__(self) -> str:
        return f"product({', '.join(self._names)})"


_PRODUCT: Final = primitive_exists(ExpressionFactory, _Product(_OF_MATRICES, lambda: MatrixProduct(False, False)))
_FILL: Final = primitive_exists(FillFactory, _SUMS)
_CONVOLUTION: Final = primitive_exists(ExpressionFactory, _Product(("x", "w"), Convolution, *Convolution._fields))


@launching("matmul_integer", _PRODUCT, when=_bytes("a", "b"), priority=1)
def matmul_integer_kernel(calls: Calls, multiply: Any) -> Plan:
    """Return one launch of Expression."""
    of_a, of_b, of_c = launch_dims(calls.shapes, calls.attributes)
    if 0 in of_c:
        return Plan()
    return Plan(Launch(multiply, [View(RESULT, of_c)], [View(Placeholder(0), of_a), View(Placeholder(1), of_b)]))


@launching("conv_integer", _CONVOLUTION, _FILL, when=_bytes("x", "w"), priority=1, dst="out")
def conv_integer_kernel(calls: Calls, multiply: Any, fill: Any) -> Plan:
    """Return one launch of Expression, which reads windows of x where they are."""
    if 0 in calls.shapes[1]:  # sums of nothing, as a rank has them
        (shape,) = conv_shapes(calls.shapes, calls.attributes)
        return Plan(Launch(fill, RESULT, 0, math.prod(shape)))
    return Plan(Launch(multiply, [RESULT], [Placeholder(0), Placeholder(1)]))


@launching("matmul_integer", *_casts("a", "b"), MATMUL, when=_bytes("a", "b"), c="out")
def widened_matmul_kernel(calls: Calls, cast_a: Any, cast_b: Any, matmul: Any) -> Plan:
    """Return the product of operands that are converted to int32."""
    steps = list[Any]()
    a, b = (_widened(steps, cast, k, calls.shapes[k]) for k, cast in enumerate((cast_a, cast_b)))
    of_a, of_b, of_c = launch_dims(calls.shapes, calls.attributes)
    return Plan(*steps, Launch(matmul, 1, of_a, a, of_b, b, 0, of_c, RESULT))


@launching("conv_integer", *_casts("x", "w"), MOVES, MATMUL, when=_bytes("x", "w"), a="w", b="x", c="out")
def widened_conv_kernel(calls: Calls, cast_x: Any, cast_w: Any, moves: WindowMoves, matmul: Any) -> Plan:
    """Return the product of w and the windows of x, which are converted to int32."""
    steps = list[Any]()
    x, w = (_widened(steps, cast, k, calls.shapes[k]) for k, cast in enumerate((cast_x, cast_w)))
    multiply = product(moves, matmul, calls.shapes, calls.attributes)
    return Plan(*steps, *multiply.of([x, w], RESULT).steps)
