"""Resizes of images. PyTorch's own become many gathers when a graph is traced, so these are operators of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import torch
from torch.fx import GraphModule
from torch.nn import functional

from ep import ops
from ep.torch.table import OPERATORS, Arguments, Call, aten

_MODES: Final = {
    "nearest": ("nearest", "upsample_nearest{}d"),
    "nearest-exact": ("nearest_exact", "_upsample_nearest_exact{}d"),
    "linear": ("linear", "upsample_linear{}d"),
    "bilinear": ("linear", "upsample_bilinear{}d"),
    "trilinear": ("linear", "upsample_trilinear{}d"),
    "bicubic": ("cubic", "upsample_bicubic{}d"),
}
"""For each mode of PyTorch, that of `ep.ops.resize`, and the name of ATen's operator with a number of axes."""


def with_resizes(module: GraphModule) -> None:
    """Let the graph of a model call the operators of this module."""
    parts = [one for one in module.modules() if isinstance(one, GraphModule)]
    targets = [node.target for part in parts for node in part.graph.nodes]
    if any(str(getattr(one, "__module__", "")).startswith("torch._functorch") for one in targets):
        return  # torch.vmap does not know the operators
    for part in parts:
        for node in part.graph.find_nodes(op="call_function", target=functional.interpolate):
            node.target = _interpolate
        part.recompile()


def _interpolate(
    input: torch.Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> torch.Tensor:
    """Return what `torch.nn.functional.interpolate` returns."""
    count, given = input.dim() - 2, scale_factor if size is None else size
    some = [*given] if isinstance(given, list | tuple) else [given] * count
    is_other = recompute_scale_factor or antialias or (size is None) is (scale_factor is None) or len(some) != count
    if is_other or _packet(mode, count) is None:
        return functional.interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
    if size is not None:
        return _RESIZE(input, some, mode, bool(align_corners), None)
    sizes = [torch.sym_int(length * factor) for length, factor in zip(input.shape[2:], some, strict=True)]
    return _RESIZE(input, sizes, mode, bool(align_corners), [*map(float, some)])


def _packet(mode: str, count: int) -> Any:
    """Return ATen's operator for a number of axes; None if there is none."""
    return getattr(aten, _MODES[mode][1].format(count), None) if mode in _MODES else None


def _options(mode: str, align_corners: bool, scales: Sequence[float] | None, count: int) -> list[Any]:
    """Return the last arguments of ATen's operators."""
    factors: list[Any] = [None] * count if scales is None else [*scales]
    return factors if mode.startswith("nearest") else [align_corners, *factors]


def _resized(x: torch.Tensor, sizes: Any, mode: str, align_corners: bool, scales: Any) -> Any:
    return _packet(mode, len(sizes)).default(x, sizes, *_options(mode, align_corners, scales, len(sizes)))


def _gradient(dy: torch.Tensor, shape: Any, mode: str, align_corners: bool, scales: Any) -> Any:
    count = len(shape) - 2
    gradient = getattr(aten, f"{_packet(mode, count).__name__}_backward").default
    return gradient(dy, dy.shape[2:], shape, *_options(mode, align_corners, scales, count))


def _fake_gradient(dy: torch.Tensor, shape: Any, mode: str, align_corners: bool, scales: Any) -> Any:
    """Return a tensor with the strides of a gradient: many are in the memory format of dy."""
    is_plain = mode == "bicubic" or (len(shape) == 5 and mode != "trilinear")
    return dy.new_empty(shape) if is_plain else _resized(dy, shape[2:], mode, align_corners, None)


def _set_context(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.shape, ctx.options = inputs[0].shape, inputs[2:]


def _backward(ctx: Any, dy: torch.Tensor) -> tuple[Any, ...]:
    return _RESIZE_GRAD(dy, [*ctx.shape], *ctx.options), None, None, None, None


def _defined(name: str, first: str, real: Any, fake: Any) -> Any:
    """Return a new operator of PyTorch. real: computes it. fake: returns a result without elements."""
    torch.library.define(name, f"(Tensor {first}, str mode, bool align_corners, float[]? scales) -> Tensor")
    torch.library.impl(name, "CompositeExplicitAutograd", real)
    torch.library.register_fake(name, fake)
    return getattr(torch.ops.ep, name.partition("::")[2]).default


_RESIZE: Final = _defined("ep::resize", "x, SymInt[] sizes", _resized, _resized)
_RESIZE_GRAD: Final = _defined("ep::resize_grad", "dy, SymInt[] shape", _gradient, _fake_gradient)
torch.library.register_autograd("ep::resize", _backward, setup_context=_set_context)


def _computed(c: Call, a: Arguments) -> Any:
    if c.dtype.kind in "iub" and (c.dtype != np.uint8 or not a.mode.startswith("nearest")):
        raise NotImplementedError(f"a {a.mode} resize of {c.dtype}, which PyTorch rounds in a way of its own")
    options: Any = {"mode": _MODES[a.mode][0], "align_corners": a.align_corners, "scales": a.scales}
    if a.dy is not None:
        return ops.resize_grad(a.dy, c.shape, **options)
    return ops.resize(a.x, c.shape[2:], **options)


OPERATORS.update({_RESIZE: _computed, _RESIZE_GRAD: _computed})
