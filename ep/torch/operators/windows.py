"""Pools and resizes, and their gradients."""

from __future__ import annotations

from typing import Any, Final

from ep import ops
from ep.torch.table import Call, computes


class _Windows:
    """The windows of a pool. options: what the functions of `ep.ops` take."""

    def __init__(
        self, call: Call, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any = 1, ceil_mode: bool = False
    ) -> None:
        self.axes = 3 if "3d" in call.node.target._schema.name else 2
        self._is_one = len(x.shape) == self.axes + 1  # a sample without an axis of samples
        self.kernel = self._each(kernel)
        self.options: Any = {
            "kernel": self.kernel,
            "strides": self._each(stride) if stride else self.kernel,
            "pads": self._each(padding) * 2,
            "dilations": self._each(dilation),
            "ceil_mode": ceil_mode,
        }

    def _each(self, value: Any) -> list[int]:
        given = [value] if isinstance(value, int) else [*value]
        return given * (self.axes // len(given)) if len(given) == 1 else given

    def samples(self, x: Any) -> Any:
        """Return an operand with an axis of samples."""
        return x.reshape((1, *x.shape)) if self._is_one else x

    def result(self, y: Any) -> Any:
        """Return a result with as many axes as the operand of the call has."""
        return y.reshape(y.shape[1:]) if self._is_one else y


@computes("max_pool2d_with_indices", "max_pool3d_with_indices")
def _(
    call: Call, x: Any, kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    windows = _Windows(call, x, kernel, stride, padding, dilation, ceil_mode)
    if call.is_read(1):
        return [*map(windows.result, ops.max_pool_with_indices(windows.samples(x), **windows.options))]
    return [windows.result(ops.max_pool(windows.samples(x), **windows.options)), None]


@computes("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
def _(
    call: Call, dy: Any, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, indices: Any
) -> Any:
    windows = _Windows(call, x, kernel, stride, padding, dilation, ceil_mode)
    found = ops.max_unpool(windows.samples(dy), windows.samples(indices), x.shape[-windows.axes :])
    return windows.result(found)


@computes("avg_pool2d", "avg_pool3d")
def _(
    call: Call, x: Any, kernel: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor: Any = None,
) -> Any:  # fmt: skip
    windows = _Windows(call, x, kernel, stride, padding, 1, ceil_mode)
    y = ops.average_pool(windows.samples(x), **windows.options, count_include_pad=count_include_pad, divisor=divisor)
    return windows.result(y)


@computes("avg_pool2d_backward", "avg_pool3d_backward")
def _(
    call: Call, dy: Any, x: Any, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
    divisor: Any,
) -> Any:  # fmt: skip
    windows = _Windows(call, x, kernel, stride, padding, 1, ceil_mode)
    dx = ops.average_pool_grad(
        windows.samples(dy), windows.samples(x).shape, **windows.options, count_include_pad=count_include_pad,
        divisor=divisor,
    )  # fmt: skip
    return windows.result(dx)


@computes("_adaptive_avg_pool2d", "_adaptive_avg_pool3d")
def _(call: Call, x: Any, sizes: Any) -> Any:
    is_one = len(x.shape) == len(sizes) + 1
    y = ops.adaptive_average_pool(x.reshape((1, *x.shape)) if is_one else x, sizes)
    return y.reshape(y.shape[1:]) if is_one else y


@computes("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward")
def _(call: Call, dy: Any, x: Any) -> Any:
    is_one = len(x.shape) == (3 if "2d" in call.node.target._schema.name else 4)
    more = (1,) * is_one
    return ops.adaptive_average_pool_grad(dy.reshape((*more, *dy.shape)), (*more, *x.shape)).reshape(x.shape)


_RESIZES: Final = {
    "upsample_nearest{}d": "nearest",
    "_upsample_nearest_exact{}d": "nearest_exact",
    "upsample_linear{}d": "linear",
    "upsample_bilinear{}d": "linear",
    "upsample_trilinear{}d": "linear",
    "upsample_bicubic{}d": "cubic",
}


def _add_resizes(name: str, mode: Any) -> None:
    """Add an operator, its form with lists, and its gradient. Those of lines and cubics have `align_corners`."""
    count = int(mode in ("linear", "cubic"))

    def options(given: Any) -> Any:
        align, scales = given[:count], given[count:]
        return {
            "mode": mode,
            "align_corners": any(align),
            "scales": None if None in scales or not scales else scales,
        }

    computes(f"{name}.default")(lambda call, x, sizes, *given: ops.resize(x, sizes, **options(given)))
    computes(f"{name}.vec")(
        lambda call, x, _, *given: ops.resize(x, call.shape[2:], **options((*given[:count], *(given[count] or ()))))
    )
    computes(f"{name}_backward.default")(
        lambda call, dy, _, shape, *given: ops.resize_grad(dy, shape, **options(given))
    )


for _name, _mode in _RESIZES.items():
    for _axes in (1, 2, 3):
        _add_resizes(_name.format(_axes), _mode)
