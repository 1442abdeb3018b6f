"""The four softmaxes: their references, launches, and the check of results within the tolerances."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from ep.include import DataType
from ep.include.primitive import (
    Factory,
    LogSoftmaxBackwardFactory,
    LogSoftmaxFactory,
    SoftmaxBackwardFactory,
    SoftmaxFactory,
)
from ep.testing.device_under_test import DeviceUnderTest
from ep.testing.references.softmax import (
    Exact,
    log_softmax,
    log_softmax_backward,
    softmax,
    softmax_backward,
)
from ep.testing.tolerances import launch_ulps, softmax_ulps
from ep.testing.ulps import errors_in_ulps


class SoftmaxPrimitive(NamedTuple):
    """A primitive under test.

    operands: the names of the operands; output: of the result.
    draw: (rng, data type, rows, cols, spread) -> operands.
    ulps: the bound for results of VECTOR_MATH.
    """

    factory: type[Factory[Any]]
    operands: tuple[str, ...]
    output: str
    draw: Callable[..., list[np.ndarray]]
    exact: Exact
    ulps: float


def logits(rng: np.random.Generator, data_type: DataType, rows: int, cols: int, spread: float = 1) -> list[np.ndarray]:
    """Return x, from N(0, spread)."""
    return [rng.normal(0, spread, (rows, cols)).astype(data_type.dtype)]


def outputs_and_gradients(
    rng: np.random.Generator, data_type: DataType, rows: int, cols: int, spread: float = 1, log: bool = False
) -> list[np.ndarray]:
    """Return y of some logits, and dy."""
    y = softmax(*logits(rng, data_type, rows, cols, spread))[0]
    with np.errstate(divide="ignore"):
        y = np.log(y) if log else y
    return [y.astype(data_type.dtype), rng.normal(0, 1, (rows, cols)).astype(data_type.dtype)]


_LOG_DRAW: Final = partial(outputs_and_gradients, log=True)
SOFTMAX: Final = SoftmaxPrimitive(SoftmaxFactory, ("x",), "y", logits, softmax, ulps=4)
LOG_SOFTMAX: Final = SoftmaxPrimitive(LogSoftmaxFactory, ("x",), "y", logits, log_softmax, ulps=4)
SOFTMAX_BACKWARD: Final = SoftmaxPrimitive(
    SoftmaxBackwardFactory, ("y", "dy"), "dx", outputs_and_gradients, softmax_backward, ulps=8
)
LOG_SOFTMAX_BACKWARD: Final = SoftmaxPrimitive(
    LogSoftmaxBackwardFactory, ("y", "dy"), "dx", _LOG_DRAW, log_softmax_backward, ulps=8
)


def launch(
    device: DeviceUnderTest,
    tested: SoftmaxPrimitive,
    data_type: DataType,
    sources: list[np.ndarray],
    place: int | None = None,
) -> np.ndarray:
    """Launch, and return the result. place: the index of the operand whose memory is overwritten with the result."""
    rows, cols = sources[0].shape
    primitive = device.require(tested.factory, data_type)
    buffers = [device.guarded(source) for source in sources]
    output = device.filled(rows * cols + 3, data_type) if place is None else buffers[place]
    primitive.Launch(device.stream, rows, cols, *buffers, output)
    for position, (buffer, source) in enumerate(zip(buffers, sources, strict=True)):
        assert position == place or device.array(buffer)[:-3].tobytes() == source.tobytes(), "an operand was written"
    return device.written(output, (rows, cols))


def check_close(device: DeviceUnderTest, tested: SoftmaxPrimitive, data_type: DataType, got: Any, sources: Any) -> None:
    """Raise AssertionError if a result is further from the exact one than the documented bound."""
    want, term = tested.exact(*sources)
    bound = launch_ulps(softmax_ulps(tested.ulps, device.library), data_type, got.dtype)
    errors = errors_in_ulps(got, want, term)
    if not errors.size:
        return
    worst = np.unravel_index(np.argmax(errors), errors.shape)
    assert errors[worst] <= bound, (
        f"{tested.factory.__name__} at {worst} of {got.shape}: {got[worst]!r}, exactly {want[worst]!r}: "
        f"{errors[worst]:.3g} ulp of {bound:.3g}"
    )


def check(
    device: DeviceUnderTest, tested: SoftmaxPrimitive, data_type: DataType, sources: Any, place: int | None = None
) -> None:
    """Launch, and compare."""
    check_close(device, tested, data_type, launch(device, tested, data_type, sources, place), sources)


LEVELS: Final = (-3e4, -1600.0, -250.0, -207.0, 90.0, 209.0, 1501.0, 6e4)


def rows_at_level(rng: np.random.Generator, data_type: DataType, level: float) -> np.ndarray:
    """Return rows of 37 near a level; the last two also have elements far below it or on the other side of 0."""
    x = level + rng.normal(0, 3, (3, 37))
    x[1, ::3], x[2, 1::2] = -level, level - 95
    return x.astype(data_type.dtype)


def special_rows(data_type: DataType) -> np.ndarray:
    """Return rows of 35 with NaN, infinities and huge values; the last three rows are finite."""
    info_max = float(np.finfo(data_type.dtype).max) if data_type is not DataType.kBFloat16 else 3.3e38
    x = np.zeros((9, 35))
    x[0, 7], x[1, 34], x[2], x[3, [0, 30]], x[4, [1, 2]] = np.nan, np.inf, -np.inf, (np.inf, -np.inf), (np.nan, np.inf)
    x[5, ::2] = -np.inf
    x[6, 3], x[7], x[8, 5:] = info_max, -info_max, -info_max
    return x.astype(data_type.dtype)
