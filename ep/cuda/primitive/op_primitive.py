"""The base of the primitives on CUDA with an op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ep.common.attributes import attribute_values
from ep.common.stored_types import stored_types
from ep.cuda.compile.arithmetic import COMPUTE_BOUND, attribute_type
from ep.cuda.primitive.map_primitive import MapPrimitive
from ep.include.primitive.op_table import attributes_of
from ep.include.primitive.primitive import Request

if TYPE_CHECKING:
    from ep.cuda.engine.map.functor import Functor


class OpPrimitive(MapPrimitive):
    """A primitive that applies a UnaryOp or a BinaryOp to operands of one type."""

    def __init__(self, request: Request, op: Any = None) -> None:
        """op: by default, that of the request."""
        key: Any = (op or request.op, *(request.dtypes or ()))
        stored: Any = self.signature.data_types(stored_types(*key))
        super().__init__(request, stored, takes_packs=key[0] not in COMPUTE_BOUND)
        self._key = key
        if attributes_of(key[0]):
            self.attribute_words = _attribute_words(request)

    def _functor(self) -> Functor:
        from ep.cuda.engine.map.functor import functor_of

        return functor_of(*self._key)


def _attribute_words(request: Request) -> tuple[int, int]:
    """Return the attributes in the form for kernels: two words with the bits of float32 or float64 values.

    They have the type in which the op is computed, so kernels need not convert them.
    """
    scalar_type = attribute_type(request.op, (request.dtypes or ())[0])  # type: ignore[arg-type]
    with np.errstate(over="ignore"):  # beyond the range of float32 is infinity
        values = np.array([*attribute_values(request), 0, 0][:2]).astype(scalar_type)
    first, second = values.view(np.int32 if scalar_type is np.float32 else np.int64).tolist()
    return first, second
