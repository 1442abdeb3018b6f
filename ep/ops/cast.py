"""cast: an array in another data type."""

from __future__ import annotations

from collections.abc import Sequence

from ep.common.primitive.broadcast import Dims
from ep.include.data_type import DTypeLike, as_data_type
from ep.include.number_kind import COMPLEXES
from ep.include.primitive.cast import CastFactory
from ep.ops.declare.function import Tensor, operator
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import Given
from ep.ops.kernels import Call, Kernel, Subject, data_type, primitive_exists, register_kernel
from ep.ops.names import launch


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> Sequence[Dims]:
    return shapes


@operator(shape=_shape, dtype=Given("dtype"), aliases=["astype"])
def cast(x: Tensor, dtype: DTypeLike) -> Attributes:
    """Return `x` in another data type, as `numpy.astype`.

    x: array of any shape and type.
    dtype: a DataType, a NumPy dtype or a sized name, such as "float16" or "bfloat16".
    out: where to put the result, an array of its shape and dtype.

    The result is an array of its own, even where x has that type already. Floating-point numbers become integers toward
    zero, the largest or smallest one where they are out of range, and 0 for NaN; integers wrap. Raises TypeError for a
    complex array and a real type: take `real(x)` or `imag(x)`.
    """
    data_type = as_data_type(dtype)
    if as_data_type(x.dtype) in COMPLEXES and data_type not in COMPLEXES:
        raise TypeError(f"dtype is {data_type.dtype}, and x has dtype {x.dtype}; take real(x) or imag(x) first")
    return {"dtype": data_type}


_CAST = primitive_exists(CastFactory, data_type("x"), data_type("out"))


@register_kernel("cast", matches=_CAST)
class CastKernel(Kernel):
    """One launch of Cast."""

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._primitive = _CAST.make(subject)

    def compute(self, call: Call) -> None:
        (x,), (out,) = call.inputs, call.outputs
        launch(self._primitive, {"src": "x", "dst": "out"}, call.stream, x, out, x.size)
