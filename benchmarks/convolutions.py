"""Convolutions of models in float32, and gradients by w, compared with PyTorch, ONNX Runtime, OpenVINO,
and the product in them.

A time is the least of some runs, in which all libraries take turns. A wrong result is an error.
"""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

import numpy as np

import ep.ops
from benchmarks import runtimes
from benchmarks.quiet import least_seconds
from ep.cli import output

Call = Callable[[], Any]
Array = np.ndarray[Any, Any]

_RUNS: Final = 60
_SEED: Final = 20
_PEERS: Final = ("torch", *runtimes.NAMES)
_PRODUCT: Final = "product"
"""The column of the product alone, of matrices that exist already."""


class Convolution(NamedTuple):
    """One use: the shapes of x and w, and the attributes, equal for all spatial axes; by_w: the gradient by w of it."""

    x: tuple[int, ...]
    w: tuple[int, ...]
    stride: int = 1
    pad: int = 0
    groups: int = 1
    by_w: bool = False

    @property
    def given(self) -> dict[str, int]:
        """Return the attributes, as arguments of `ep.ops.conv`."""
        return {"strides": self.stride, "pads": self.pad, "groups": self.groups}

    @property
    def counts(self) -> tuple[int, ...]:
        """Return the windows along each spatial axis."""
        each = zip(self.x[2:], self.w[2:], strict=True)
        return tuple((size + 2 * self.pad - kernel) // self.stride + 1 for size, kernel in each)


CONVOLUTIONS: Final = {
    "3 x 3, 64 to 64, 56 x 56": Convolution((1, 64, 56, 56), (64, 64, 3, 3), pad=1),
    "3 x 3, 128 to 128, 28 x 28": Convolution((1, 128, 28, 28), (128, 128, 3, 3), pad=1),
    "3 x 3, 256 to 256, 14 x 14": Convolution((1, 256, 14, 14), (256, 256, 3, 3), pad=1),
    "7 x 7 by 2, 3 to 64, 224 x 224": Convolution((1, 3, 224, 224), (64, 3, 7, 7), stride=2, pad=3),
    "1 x 1, 256 to 64, 56 x 56": Convolution((1, 256, 56, 56), (64, 256, 1, 1)),
    "3 x 3 depthwise, 96, 24 x 160": Convolution((1, 96, 24, 160), (96, 1, 3, 3), pad=1, groups=96),
    "5 x 5 depthwise by 2, 192, 40 x 40": Convolution((1, 192, 40, 40), (192, 1, 5, 5), stride=2, pad=2, groups=192),
    "3 x 3 by 2, 3 to 32, 224 x 224": Convolution((1, 3, 224, 224), (32, 3, 3, 3), stride=2, pad=1),
    "3 x 3 by 2, 64 to 128, 56 x 56": Convolution((1, 64, 56, 56), (128, 64, 3, 3), stride=2, pad=1),
    "3 x 3 depthwise, 32, 112 x 112": Convolution((1, 32, 112, 112), (32, 1, 3, 3), pad=1, groups=32),
    "3 x 3 depthwise by 2, 32, 112 x 112": Convolution((1, 32, 112, 112), (32, 1, 3, 3), stride=2, pad=1, groups=32),
    "5, 64 to 128, 2048": Convolution((1, 64, 2048), (128, 64, 5)),
    "by w, 3 x 3, 64 to 64, 8 x 56 x 56": Convolution((8, 64, 56, 56), (64, 64, 3, 3), pad=1, by_w=True),
    "by w, 3 x 3, 128 to 128, 8 x 28 x 28": Convolution((8, 128, 28, 28), (128, 128, 3, 3), pad=1, by_w=True),
    "by w, 3 x 3, 512 to 512, 8 x 7 x 7": Convolution((8, 512, 7, 7), (512, 512, 3, 3), pad=1, by_w=True),
    "by w, 3 x 3 by 2, 64 to 128, 8 x 56 x 56": Convolution((8, 64, 56, 56), (128, 64, 3, 3), 2, 1, by_w=True),
    "by w, 1 x 1 by 2, 64 to 128, 8 x 56 x 56": Convolution((8, 64, 56, 56), (128, 64, 1, 1), 2, by_w=True),
    "by w, 7 x 7 by 2, 3 to 64, 2 x 112 x 112": Convolution((2, 3, 112, 112), (64, 3, 7, 7), 2, 3, by_w=True),
    "by w, depthwise, 32, 2 x 112 x 112": Convolution((2, 32, 112, 112), (32, 1, 3, 3), 1, 1, 32, by_w=True),
    "by w, depthwise by 2, 128, 2 x 56 x 56": Convolution((2, 128, 56, 56), (128, 1, 3, 3), 2, 1, 128, by_w=True),
    "by w, depthwise, 512, 2 x 14 x 14": Convolution((2, 512, 14, 14), (512, 1, 3, 3), 1, 1, 512, by_w=True),
}
"""The first five are those of ResNets; then two of text models, four of MobileNets, and one along one axis. Last,
gradients by w, as in the training of ResNet18 and of a separable network."""


def measure(arguments: Namespace) -> dict[str, dict[str, float]]:
    """Return the seconds of each convolution, by library: `ep`, and the requested peers that are installed."""
    return {name: _measured(one, arguments) for name, one in CONVOLUTIONS.items()}


def show(measured: Mapping[str, Mapping[str, float]]) -> None:
    """Print a table of milliseconds, with the arithmetic rate of ep."""
    libraries = ["ep", _PRODUCT, *(peer for peer in _PEERS if any(peer in of_one for of_one in measured.values()))]
    rows = [
        (
            name,
            *(f"{of_one[library] * 1e3:.3f}" if library in of_one else "" for library in libraries),
            f"{_operations(CONVOLUTIONS[name]) / of_one['ep'] / 1e9:.0f}",
        )
        for name, of_one in measured.items()
    ]
    title = "milliseconds of a convolution in float32; the product is that of its windows, once they are written"
    columns = (*libraries, "ep, GFLOP/s")
    output.table(("convolution", *columns), rows, title, right=columns)


def calls_of(one: Convolution, peers: tuple[str, ...] | list[str], threads: int) -> dict[str, Call]:
    """Return calls that compute a convolution, by library; their results are arrays that NumPy accepts."""
    rng = np.random.default_rng(_SEED)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in (one.x, one.w))
    if one.by_w:
        dy = rng.standard_normal((one.x[0], one.w[0], *one.counts)).astype(np.float32)
        calls = {"ep": lambda: ep.ops.conv_w_grad(dy, x, one.w, **one.given)}
        if "torch" in peers and find_spec("torch") is not None:
            calls["torch"] = _gradient_of_torch(one, dy, x, w, threads)
        return calls
    calls = {"ep": lambda: ep.ops.conv(x, w, **one.given)}
    if "torch" in peers and find_spec("torch") is not None:
        calls["torch"] = _of_torch(one, x, w, threads)
    for name in runtimes.installed(peers) if find_spec("onnx") is not None else []:
        calls[name] = _of_runtime(name, one, x, w, threads)
    return calls


def _measured(one: Convolution, arguments: Namespace) -> dict[str, float]:
    calls = calls_of(one, arguments.peers, arguments.threads)
    expected = calls["ep"]()
    for name, call in calls.items():
        np.testing.assert_allclose(np.asarray(call()), expected, rtol=1e-3, atol=1e-3, err_msg=name)
    calls[_PRODUCT] = _product(one)
    return least_seconds(calls, _RUNS)


def _operations(one: Convolution) -> int:
    """Return the number of multiplications and additions."""
    return 2 * one.x[0] * math.prod(one.w) * math.prod(one.counts)


def _product(one: Convolution) -> Call:
    filters, places, windows = one.w[0] // one.groups, math.prod(one.w[1:]), math.prod(one.counts)
    if one.by_w:
        length = one.x[0] * windows
        dy, written = (np.ones((one.groups, size, length), np.float32) for size in (filters, places))
        return partial(ep.ops.matmul, dy, written, transpose_x2=True)
    w = np.ones((one.groups, filters, places), np.float32)
    return partial(ep.ops.matmul, w, np.ones((one.x[0], one.groups, places, windows), np.float32))


def _of_torch(one: Convolution, x: Array, w: Array, threads: int) -> Call:
    import torch

    torch.set_num_threads(threads)
    function = (torch.conv1d, torch.conv2d, torch.conv3d)[x.ndim - 3]
    return partial(function, torch.from_numpy(x), torch.from_numpy(w), None, one.stride, one.pad, 1, one.groups)


def _gradient_of_torch(one: Convolution, dy: Array, x: Array, w: Array, threads: int) -> Call:
    import torch

    torch.set_num_threads(threads)
    arrays, axes = (torch.from_numpy(array) for array in (dy, x, w)), x.ndim - 2
    steps = [[number] * axes for number in (one.stride, one.pad, 1)]
    given = *arrays, None, *steps, False, [0] * axes, one.groups, [False, True, False]
    return lambda: torch.ops.aten.convolution_backward(*given)[1]


def _of_runtime(name: str, one: Convolution, x: Array, w: Array, threads: int) -> Call:
    """Return the call of a runtime. w is part of the model: runtimes pack it once."""
    from onnx import TensorProto, helper, numpy_helper

    axes = x.ndim - 2
    node = helper.make_node(
        "Conv", ["x", "w"], ["y"], strides=[one.stride] * axes, pads=[one.pad] * 2 * axes, group=one.groups
    )
    of_x = helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)
    of_y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * x.ndim)
    graph = helper.make_graph([node], "conv", [of_x], [of_y], [numpy_helper.from_array(w, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    call: Any = runtimes.prepared(name, model.SerializeToString(), {"x": x}, threads)
    return lambda: call()[0]
