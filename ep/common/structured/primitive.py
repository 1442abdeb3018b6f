"""The base class of primitives that compute structures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from ep.common.attributes import attribute_values
from ep.common.buffer_checks import check_class
from ep.common.primitive.broadcast import simplify_walk
from ep.common.primitive.signature import Signature
from ep.common.scalar import convert_value, is_scalar
from ep.common.structured.kernels import StructureKernels
from ep.include.data_type import DataType
from ep.include.primitive.primitive import Primitive, Request
from ep.include.primitive.structure import Step, Structure


class StructuredPrimitive(Primitive):
    """A primitive that computes a structure, which follows from its key."""

    signature: ClassVar[Signature]

    def __init__(self, request: Request, kernels: StructureKernels) -> None:
        super().__init__(request)
        self._kernels, dtypes = kernels, request.dtypes
        if dtypes is not None:  # else Launch has them
            self._structure = self.structure(request.op, dtypes, attribute_values(request))
            self._types: Any = self._data_types(request)

    def __reduce__(self) -> Any:
        return type(self), (self.request, self._kernels)

    @classmethod
    def structure(cls, op: Any, dtypes: Sequence[DataType], attributes: tuple[float, ...] = ()) -> Structure:
        """Return the structure of a key, if the primitive has keys."""
        raise NotImplementedError

    def _data_types(self, request: Request) -> Sequence[DataType | None]:
        """Return the data types of the operands."""
        return self.signature.data_types(request.dtypes or ())

    def _constant(
        self, stream: Any, value: Any, data_type: DataType, name: str, convert: Callable[..., Any] = convert_value
    ) -> Any:
        """Return a number that Launch was given as a buffer. name: of the argument."""
        number = convert(value, data_type, name)
        return self._kernels.constant(self._checked(stream), number)

    def _operand(
        self, stream: Any, place: int, value: Any, dims: Sequence[int], convert: Callable[..., Any] = convert_value
    ) -> Any:
        """Return an operand of the signature; if it is a number, for an array without axes, as a buffer."""
        if dims or not is_scalar(value):
            return value
        return self._constant(stream, value, self._types[place], self.signature.operands[place].name, convert)

    def _launch(
        self, stream: Any, operands: Sequence[Any], counts: Sequence[int], *walk: Any, in_place: bool = True
    ) -> None:
        """Check and queue a launch. operands: in the order of the signature, whose last one is the result. walk: as for
        `_compute`."""
        *sources, result = self._read(stream, operands, counts, in_place=in_place)
        self._compute(stream, (result, *sources), *walk)

    def _read(
        self, stream: Any, operands: Sequence[Any], counts: Sequence[int], *, in_place: bool = True, types: Any = None
    ) -> list[Any]:
        """Check the stream and the operands of a launch; return buffers."""
        reader = self._kernels.reader(self._checked(stream))
        return self.signature.read(operands, types or self._types, counts, reader, in_place)

    def _checked(self, stream: Any) -> Any:
        """Return a stream; TypeError if it is not one of the device."""
        kernels = self._kernels
        return check_class(stream, kernels.stream_class, "stream", f"a stream of {kernels.device_type.tag}")

    def _compute(
        self,
        stream: Any,
        operands: Sequence[Any],
        dims: Sequence[int],
        strides: Iterable[Sequence[int]],
        row_dims: Sequence[int] | None = None,
        row_strides: Iterable[Sequence[int]] = (),
        choice: Sequence[int] = (),
        structure: Structure | None = None,
    ) -> None:
        """Queue a kernel, unless it writes nothing: see `StructureKernels.compute`.

        structure: that of this launch, if it depends on it.
        """
        if 0 in dims:
            return
        walk, row_walk = simplify_walk(tuple(dims), *map(tuple, strides)), None
        if row_dims is not None:
            empty = ((0,),) * (1 + len(operands))
            row_walk = empty if 0 in row_dims else simplify_walk(tuple(row_dims), *map(tuple, row_strides))
        self._kernels.compute(stream, structure or self._structure, operands, walk, row_walk, choice)


def structure_of(
    op: Any, sources: Sequence[DataType], result: DataType, attributes: tuple[float, ...] = ()
) -> Structure:
    """Return the structure of one op."""
    step = Step(op, tuple(range(len(sources))), result, attributes)
    return Structure(tuple(sources), (), (step,), (len(sources),))
