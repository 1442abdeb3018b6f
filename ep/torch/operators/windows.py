"""Pools, and their gradients."""

from __future__ import annotations

from typing import Any

from ep import ops
from ep.torch.table import Arguments, Call, add


def _options(c: Call, a: Arguments) -> dict[str, Any]:
    """Return the windows of a pool, as the functions of `ep.ops` take them."""
    axes = 3 if "3d" in c.name else 2

    def each(value: Any) -> list[int]:
        given = [value] if isinstance(value, int) else [*value]
        return given * (axes // len(given))

    kernel = each(a.kernel_size)
    found = {
        "kernel": kernel,
        "strides": each(a.stride) if a.stride else kernel,
        "pads": each(a.padding) * 2,
        "dilations": each(a.dilation or 1),
        "ceil_mode": a.ceil_mode,
    }
    if "avg" in c.name:
        found |= {"count_include_pad": a.count_include_pad, "divisor": a.divisor_override}
    return found


def _samples(c: Call, x: Any) -> Any:
    """Return an operand with an axis of samples."""
    return x.reshape((1, *x.shape)) if len(x.shape) == (4 if "3d" in c.name else 3) else x


def _max_pool(c: Call, a: Arguments) -> Any:
    x = _samples(c, a.self)
    if not c.is_read(1):
        return [ops.max_pool(x, **_options(c, a)).reshape(c.shape), None]
    return [one.reshape(c.shape) for one in ops.max_pool_with_indices(x, **_options(c, a))]


def _max_pool_backward(c: Call, a: Arguments) -> Any:
    x, axes = a.self, 3 if "3d" in c.name else 2
    return ops.max_unpool(_samples(c, a.grad_output), _samples(c, a.indices), x.shape[-axes:]).reshape(c.shape)


def _average_pool_backward(c: Call, a: Arguments) -> Any:
    x = _samples(c, a.self)
    return ops.average_pool_grad(_samples(c, a.grad_output), x.shape, **_options(c, a)).reshape(c.shape)


def _adaptive_backward(c: Call, a: Arguments) -> Any:
    return ops.adaptive_average_pool_grad(_samples(c, a.grad_output), _samples(c, a.self).shape).reshape(c.shape)


add(
    {
        "max_pool2d_with_indices max_pool3d_with_indices": _max_pool,
        "max_pool2d_with_indices_backward max_pool3d_with_indices_backward": _max_pool_backward,
        "avg_pool2d avg_pool3d": lambda c, a: ops.average_pool(_samples(c, a.self), **_options(c, a)).reshape(c.shape),
        "avg_pool2d_backward avg_pool3d_backward": _average_pool_backward,
        "_adaptive_avg_pool2d _adaptive_avg_pool3d": lambda c, a: ops.adaptive_average_pool(
            _samples(c, a.self), a.output_size
        ).reshape(c.shape),
        "_adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward": _adaptive_backward,
    }
)
