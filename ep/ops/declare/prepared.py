"""The plan of an operator for inputs of certain shapes and types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, Arrays, KnownCall
from ep.include.errors import ArgumentError
from ep.ops.kernels.kernel import Launches, OneLaunch


class Prepared(NamedTuple):
    """The plan of all calls with inputs of certain shapes and dtypes on a device type, with certain attributes.

    launches: queues the work.
    names: the operator's names for arguments that errors of launches name differently.
    shapes: of the results.
    dtype: of the results.
    """

    launches: Launches
    names: Mapping[str, str]
    shapes: Sequence[Dims]
    dtype: np.dtype[Any]

    def compute(self, arrays: Arrays, inputs: Sequence[Array], out: Array | None = None) -> list[Array]:
        """Run the operator on buffers; return the results as `arrays` delivers them."""
        outputs = [arrays.destination(shape, self.dtype, out) for shape in self.shapes]
        try:
            self.launches(arrays, inputs, outputs)
        except ArgumentError as error:
            error.rename(self.names)
            raise
        return [arrays.delivered(output, out) for output in outputs]

    def known_call(
        self, arrays: Arrays, args: Sequence[Any], names: tuple[str, ...], num_operands: int
    ) -> KnownCall | None:
        """Return the description for a `CallFinder` of calls with these arguments; None if they are not one launch.

        args, names, num_operands: as in KnownCall.
        """
        launches = self.launches
        if not isinstance(launches, OneLaunch):
            return None
        launch, arguments = launches.primitive.Launch, (arrays.stream, *launches.arguments)
        shape = tuple(self.shapes[0])
        return KnownCall(args, names, num_operands, shape, self.dtype, launch, arguments, launches.indices)

    def computing(self, arrays: Arrays) -> Callable[[Sequence[Array], Array | None], Array]:
        """Return the fastest function that runs an operator with one result, as `compute` does."""
        launches, names, (shape,), dtype = self
        empty, destination, delivered = arrays.empty, arrays.destination, arrays.delivered

        def compute(inputs: Sequence[Array], out: Array | None) -> Array:
            result = empty(shape, dtype) if out is None else destination(shape, dtype, out)
            try:
                launches(arrays, inputs, (result,))
            except ArgumentError as error:
                error.rename(names)
                raise
            return delivered(result, out)

        return compute
