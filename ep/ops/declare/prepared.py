"""The plan of an operator for inputs of certain shapes and types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ep.common.primitive.broadcast import Dims
from ep.include.arrays import Array, Arrays, KnownCall
from ep.include.errors import ArgumentError
from ep.ops.kernels.kernel import Launches
from ep.run.plan import Plan


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
        single = self.launches.single if isinstance(self.launches, Plan) else None
        if single is None:
            return None
        launch, shape = single.launch, tuple(self.shapes[0])
        arguments = arrays.stream, *launch.arguments
        return KnownCall(
            args, names, num_operands, shape, self.dtype, launch.primitive.Launch, arguments, single.indices
        )

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
