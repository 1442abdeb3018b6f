"""Normalisations in float32, their gradients, and products of int64, beside PyTorch.

A time is the least of some runs, in which both libraries take turns. A wrong result is an error.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

import ep.ops
from benchmarks.quiet import least_seconds
from ep.cli import output

Call = Callable[[], Any]
Calls = dict[str, Call]

_RUNS: Final = 60
_SEED: Final = 20
LAYERS: Final = ((128, 256), (512, 768), (2048, 256), (2048, 768), (4096, 1024))
"""Rows and columns of layer norms."""
GROUPS: Final = ((2, 64, 7, 8), (2, 64, 56, 8), (2, 512, 7, 32), (4, 512, 14, 8), (8, 256, 28, 32))
"""Samples, channels, height and width, and groups of channels."""
PRODUCTS: Final = ((64, 64, 64), (128, 128, 128), (256, 256, 256), (512, 512, 512), (7, 512, 512))
"""Rows, summed numbers and columns of products of int64."""


def measure(arguments: Namespace) -> dict[str, dict[str, float]]:
    """Return the seconds of each case, by library: `ep`, and PyTorch if it is requested and installed."""
    has_torch = "torch" in arguments.peers and find_spec("torch") is not None
    if has_torch:
        import torch

        torch.set_num_threads(arguments.threads)
    rng, found = np.random.default_rng(_SEED), {}
    cases = [_of_layers(rng, *one) for one in LAYERS] + [_of_groups(rng, *one) for one in GROUPS]
    for name, calls in [case for both in cases for case in both.items()] + [_of_int64(rng, *one) for one in PRODUCTS]:
        if not has_torch:
            del calls["torch"]
        expected = _arrays(calls["ep"]())
        for call in calls.values():
            for one, other in zip(_arrays(call()), expected, strict=True):
                np.testing.assert_allclose(
                    one, other, rtol=1e-3, atol=1e-4 * np.abs(other).max(initial=1), err_msg=name
                )
        found[name] = least_seconds(calls, _RUNS)
    return found


def show(measured: Mapping[str, Mapping[str, float]]) -> None:
    """Print a table of microseconds, and the ratios of both times."""
    rows = [
        (
            name,
            *(f"{seconds[library] * 1e6:.1f}" if library in seconds else "" for library in ("ep", "torch")),
            f"{seconds['torch'] / seconds['ep']:.2f}" if "torch" in seconds else "",
        )
        for name, seconds in measured.items()
    ]
    columns = ("ep", "torch", "torch / ep")
    output.table(("norm or product", *columns), rows, "microseconds of a call", right=columns)


def _arrays(results: Any) -> list[Any]:
    return [np.asarray(one) for one in (results if isinstance(results, list | tuple) else [results])]


def _normal(rng: np.random.Generator, *shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


def _of_layers(rng: np.random.Generator, rows: int, columns: int) -> dict[str, Calls]:
    """Return the calls of a layer norm and of its gradient."""
    x, dy, w, b = (_normal(rng, *shape) for shape in ((rows, columns), (rows, columns), (columns,), (columns,)))
    _, mean, inverse = ep.ops.layer_norm(x, w, b, return_statistics=True)

    def forward(torch: Any) -> Any:
        return torch.ops.aten.native_layer_norm(*_tensors(x), [columns], *_tensors(w, b), 1e-5)

    def backward(torch: Any) -> Any:
        function, three = torch.ops.aten.native_layer_norm_backward, [True] * 3
        return function(*_tensors(dy, x), [columns], *_tensors(mean, inverse, w, b), three)

    return {
        f"layer norm, {rows} x {columns}": {
            "ep": lambda: ep.ops.layer_norm(x, w, b, return_statistics=True),
            "torch": _of_torch(forward),
        },
        f"layer norm's gradient, {rows} x {columns}": {
            "ep": lambda: ep.ops.layer_norm_grad(dy, x, mean, inverse, w, b),
            "torch": _of_torch(backward),
        },
    }


def _of_groups(rng: np.random.Generator, samples: int, channels: int, size: int, groups: int) -> dict[str, Calls]:
    """Return the calls of a group norm of images and of its gradient."""
    shape, places = (samples, channels, size, size), size * size
    x, dy, w, b = (_normal(rng, *one) for one in (shape, shape, (channels,), (channels,)))
    _, mean, inverse = ep.ops.group_norm(x, w, b, num_groups=groups, return_statistics=True)

    def forward(torch: Any) -> Any:
        return torch.ops.aten.native_group_norm(*_tensors(x, w, b), samples, channels, places, groups, 1e-5)

    def backward(torch: Any) -> Any:
        function, sizes = torch.ops.aten.native_group_norm_backward, (samples, channels, places, groups)
        return function(*_tensors(dy, x, mean, inverse, w), *sizes, [True] * 3)

    name = f"{samples} x {channels} x {size} x {size} by {groups}"
    return {
        f"group norm, {name}": {
            "ep": lambda: ep.ops.group_norm(x, w, b, num_groups=groups, return_statistics=True),
            "torch": _of_torch(forward),
        },
        f"group norm's gradient, {name}": {
            "ep": lambda: ep.ops.group_norm_grad(dy, x, mean, inverse, w, b, num_groups=groups),
            "torch": _of_torch(backward),
        },
    }


def _of_int64(rng: np.random.Generator, m: int, k: int, n: int) -> tuple[str, Calls]:
    limits = np.iinfo(np.int64)
    a, b = (rng.integers(limits.min, limits.max, dims, endpoint=True) for dims in ((m, k), (k, n)))
    calls = {"ep": lambda: ep.ops.matmul(a, b), "torch": _of_torch(lambda torch: torch.matmul(*_tensors(a, b)))}
    return f"product of int64, {m} x {k} x {n}", calls


def _tensors(*arrays: Any) -> list[Any]:
    import torch

    return [torch.from_numpy(one) for one in arrays]


def _of_torch(call: Callable[[Any], Any]) -> Call:
    """Return a call of a function of the module, which is imported by the first call."""

    def run() -> Any:
        import torch

        return call(torch)

    return run
