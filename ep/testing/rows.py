"""What the tests of the four softmaxes have in common."""

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
from ep.testing.samples import other_types, sized
from ep.testing.tolerances import launch_ulps, rows_ulps
from ep.testing.ulps import errors_in_ulps

ALL_COLS: Final = (
    *range(1, 10),
    15,
    16,
    17,
    31,
    32,
    33,
    47,
    63,
    64,
    65,
    127,
    129,
    255,
    257,
    511,
    769,
    1023,
    1025,
    2047,
)
LARGE: Final = ((67, 4099), (3, 50_257), (1, 200_003), (20_011, 7), (5, 16_384))
"""Rows and columns beyond what a thread does at once."""


class RowPrimitive(NamedTuple):
    """What is tested.

    operands: the names of what is read; output: of what is written.
    draw: (rng, data type, rows, cols, spread) gives operands.
    ulps: how far results of VECTOR_MATH may be from the exact ones.
    """

    factory: type[Factory[Any]]
    operands: tuple[str, ...]
    output: str
    draw: Callable[..., list[np.ndarray]]
    exact: Exact
    ulps: float


def logits(rng: np.random.Generator, data_type: DataType, rows: int, cols: int, spread: float = 1) -> list[np.ndarray]:
    """x, from N(0, spread)."""
    return [rng.normal(0, spread, (rows, cols)).astype(data_type.dtype)]


def outputs_and_gradients(
    rng: np.random.Generator, data_type: DataType, rows: int, cols: int, spread: float = 1, log: bool = False
) -> list[np.ndarray]:
    """y of some logits, and dy."""
    y = softmax(*logits(rng, data_type, rows, cols, spread))[0]
    with np.errstate(divide="ignore"):
        y = np.log(y) if log else y
    return [y.astype(data_type.dtype), rng.normal(0, 1, (rows, cols)).astype(data_type.dtype)]


_LOG_DRAW: Final = partial(outputs_and_gradients, log=True)
SOFTMAX: Final = RowPrimitive(SoftmaxFactory, ("x",), "y", logits, softmax, ulps=4)
LOG_SOFTMAX: Final = RowPrimitive(LogSoftmaxFactory, ("x",), "y", logits, log_softmax, ulps=4)
SOFTMAX_BACKWARD: Final = RowPrimitive(
    SoftmaxBackwardFactory, ("y", "dy"), "dx", outputs_and_gradients, softmax_backward, ulps=8
)
LOG_SOFTMAX_BACKWARD: Final = RowPrimitive(
    LogSoftmaxBackwardFactory, ("y", "dy"), "dx", _LOG_DRAW, log_softmax_backward, ulps=8
)


def launch(
    device: DeviceUnderTest,
    tested: RowPrimitive,
    data_type: DataType,
    sources: list[np.ndarray],
    place: int | None = None,
) -> np.ndarray:
    """The result; `place`: the operand whose storage is written."""
    rows, cols = sources[0].shape
    primitive = device.require(tested.factory, data_type)
    filler = np.full(3, 0xA5, np.uint8).repeat(data_type.itemsize).view(data_type.dtype)
    buffers = [device.buffer(np.concatenate([source.reshape(-1), filler])) for source in sources]
    output = device.filled(rows * cols + 3, data_type) if place is None else buffers[place]
    primitive.Launch(device.stream, rows, cols, *buffers, output)
    result = device.array(output)
    assert set(result[-3:].view(np.uint8)) == {0xA5}, f"elements past the end of {tested.output} were written"
    for position, (buffer, source) in enumerate(zip(buffers, sources, strict=True)):
        assert position == place or device.array(buffer)[:-3].tobytes() == source.tobytes(), "an operand was written"
    return result[:-3].reshape(rows, cols)


def check_close(device: DeviceUnderTest, tested: RowPrimitive, data_type: DataType, got: Any, sources: Any) -> None:
    """Raise AssertionError where a result is further from the exact one than is promised."""
    want, term = tested.exact(*sources)
    bound = launch_ulps(rows_ulps(tested.ulps, device.library), data_type, got.dtype)
    errors = errors_in_ulps(got, want, term)
    if not errors.size:
        return
    worst = np.unravel_index(np.argmax(errors), errors.shape)
    assert errors[worst] <= bound, (
        f"{tested.factory.__name__} at {worst} of {got.shape}: {got[worst]!r}, exactly {want[worst]!r}: "
        f"{errors[worst]:.3g} ulp of {bound:.3g}"
    )


def check(
    device: DeviceUnderTest, tested: RowPrimitive, data_type: DataType, sources: Any, place: int | None = None
) -> None:
    """Launch, and compare."""
    check_close(device, tested, data_type, launch(device, tested, data_type, sources, place), sources)


def check_key(device: DeviceUnderTest, rng: np.random.Generator, tested: RowPrimitive, data_type: DataType) -> None:
    """A few shapes, spreads and places."""
    for rows, cols, spread in ((1, 1, 1), (3, 5, 20), (7, 33, 5), (2, 131, 20), (5, 1025, 1)):
        check(device, tested, data_type, tested.draw(rng, data_type, rows, cols, spread))
    for place in range(len(tested.operands)):
        check(device, tested, data_type, tested.draw(rng, data_type, 5, 67, 3), place)


def check_cols(device: DeviceUnderTest, rng: np.random.Generator, tested: RowPrimitive, key: Any, cols: int) -> None:
    """Rows of so many columns, one and several."""
    for rows in (1, 3, sized(device, 19, 5)):
        check(device, tested, key[0], tested.draw(rng, key[0], rows, cols, 5))


def check_large(device: DeviceUnderTest, rng: np.random.Generator, tested: RowPrimitive, key: Any, shape: Any) -> None:
    """Rows that threads share, and rows that are shared."""
    rows, cols = (sized(device, size, min(size, 300)) for size in shape)
    check(device, tested, key[0], tested.draw(rng, key[0], rows, cols, 2))


def check_places(device: DeviceUnderTest, rng: np.random.Generator, tested: RowPrimitive, data_type: DataType) -> None:
    """Buffers that begin at any element: each row has the same bits wherever it lies."""
    sources = tested.draw(rng, data_type, 4, 37, 3)
    want = launch(device, tested, data_type, sources)
    primitive = device.require(tested.factory, data_type)
    for begin in (1, 2, 5):
        padded = [np.concatenate([np.zeros(begin, data_type.dtype), source.reshape(-1)]) for source in sources]
        output = device.filled(begin + 4 * 37 + 4, data_type)
        primitive.Launch(device.stream, 4, 37, *(device.buffer(each)[begin:] for each in padded), output[begin + 1 :])
        result = device.array(output)
        assert result[begin + 1 : -3].tobytes() == want.tobytes()
        around = np.concatenate([result[: begin + 1], result[-3:]])
        assert set(around.view(np.uint8)) == {0xA5}


def check_nothing(device: DeviceUnderTest, tested: RowPrimitive, data_type: DataType) -> None:
    """No rows, or no columns."""
    for shape in ((0, 5), (5, 0), (0, 0)):
        sources = [np.zeros(shape, data_type.dtype) for _ in tested.operands]
        assert launch(device, tested, data_type, sources).size == 0


def special_rows(data_type: DataType) -> np.ndarray:
    """Rows of 35 with NaN, infinities and huge values: the last three are ordinary ones."""
    info_max = float(np.finfo(data_type.dtype).max) if data_type is not DataType.kBFloat16 else 3.3e38
    x = np.zeros((9, 35))
    x[0, 7], x[1, 34], x[2], x[3, [0, 30]], x[4, [1, 2]] = np.nan, np.inf, -np.inf, (np.inf, -np.inf), (np.nan, np.inf)
    x[5, ::2] = -np.inf
    x[6, 3], x[7], x[8, 5:] = info_max, -info_max, -info_max
    return x.astype(data_type.dtype)


def refused_arguments(device: DeviceUnderTest, tested: RowPrimitive, data_type: DataType) -> dict[str, Any]:
    """What a launch of 2 by 3 takes."""
    buffers = {name: device.buffer(np.ones(6, data_type.dtype)) for name in tested.operands}
    return {
        "stream": device.stream,
        "rows": 2,
        "cols": 3,
        **buffers,
        tested.output: device.filled(6, data_type),
    }


def check_refusals(device: DeviceUnderTest, tested: RowPrimitive, data_type: DataType, refuses: Any) -> None:
    """Each is an error that names the argument, and leaves the output as it was."""
    primitive, output = device.require(tested.factory, data_type), tested.output
    refused = refuses.of(primitive, output, lambda: refused_arguments(device, tested, data_type))
    for size in ("rows", "cols"):
        refused(ValueError, f"{size} is -1; it must not be negative", **{size: -1})
        refused(TypeError, f"{size} must be an integer", **{size: 2.0})
    refused(ValueError, f"{tested.operands[0]} has 6 elements; at least 8", cols=4)
    few = device.filled(5, data_type)
    for name in (*tested.operands, output):
        refused(ValueError, f"{name} has 5 elements; at least 6", **{name: few})
        for wrong in other_types(data_type):
            refused(TypeError, f"{name} has dtype {wrong.dtype}", **{name: device.buffer(np.ones(6, wrong.dtype))})
    memory = device.filled(16, data_type)
    refused(
        ValueError, f"{output} overlaps {tested.operands[-1]}", **{tested.operands[-1]: memory[:6], output: memory[1:7]}
    )
    refused(TypeError, "stream must be a stream", stream=None)
