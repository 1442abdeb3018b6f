"""Resizes of images. PyTorch's dispatcher has functions of many gathers in their places when a graph is traced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import torch
from torch._decomp.decompositions import upsample_compute_output_size
from torch._prims_common import suggest_memory_format
from torch._subclasses.fake_impls import register_op_impl

from ep import ops
from ep.torch.table import AtenCall, add, aten

_MODES: Final = {
    **{f"upsample_nearest{k}d": "nearest" for k in (1, 2, 3)},
    **{f"_upsample_nearest_exact{k}d": "nearest_exact" for k in (1, 2, 3)},
    **dict.fromkeys(("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"), "linear"),
    "upsample_bicubic2d": "cubic",
}
"""The modes of `ep.ops.resize`, by ATen's names."""
_KEYS: Final = torch._C.DispatchKey.Autograd, torch._C.DispatchKey.CompositeImplicitAutograd
"""What the functions of gathers replace."""


@contextmanager
def resizes_in_graphs() -> Iterator[None]:
    """Have the graphs that are traced in the block call ATen's operators."""
    packets = [getattr(aten, name) for name in _MODES]
    ours = {one.default: dict[Any, Any]() for one in (*packets, aten.softshrink)}  # theirs has its lambda in 16 bits
    ours |= {one.vec: dict.fromkeys(_KEYS, _sized(one.default)) for one in packets}
    theirs = {target: {**target.py_kernels} for target in ours}
    for target, kernels in theirs.items():
        _dispatch(target, {key: one for key, one in kernels.items() if key not in _KEYS} | ours[target])
    try:
        yield
    finally:
        for target, kernels in theirs.items():
            _dispatch(target, kernels)


def _dispatch(target: Any, kernels: Mapping[Any, Any]) -> None:
    target.py_kernels.clear()
    for key, kernel in kernels.items():  # there is one at least
        target.py_impl(key)(kernel)


def _sized(target: Any) -> Callable[..., torch.Tensor]:
    """Return an operator as a function of sizes, or of factors."""

    def resized(x: torch.Tensor, sizes: Any, *more: Any) -> Any:
        *is_aligned, factors = more
        sizes = upsample_compute_output_size(x.size(), sizes, factors)
        return target(x, sizes, *is_aligned, *(factors or [None] * len(sizes)))

    return resized


def _gradient_when_traced(
    mode: Any, target: Any, dy: torch.Tensor, _: Any, shape: Any, *more: Any, **given: Any
) -> Any:
    """Return a gradient without elements: PyTorch's own functions for that take no sizes that vary."""
    with mode:
        order = torch.contiguous_format if "cubic" in target.name() else suggest_memory_format(dy)
        return torch.empty(shape, dtype=dy.dtype, device=dy.device, memory_format=order)


def _resized(c: AtenCall) -> Any:
    mode, factors = _MODES[c.name.removesuffix("_backward")], [one for name, one in c.given.items() if "scale" in name]
    if c.dtype.kind in "iub" and (c.dtype != np.uint8 or not mode.startswith("nearest")):
        raise NotImplementedError(f"a {mode} resize of {c.dtype}, which PyTorch rounds in a way of its own")
    options: Any = {"mode": mode, "align_corners": bool(c.align_corners), "scales": factors}
    if None in factors:
        if any(factors):
            raise NotImplementedError("a resize by a factor along some axes, and to a size along others")
        options["scales"] = None
    if c.grad_output is None:
        return ops.resize(c.self, c.shape[2:], **options)
    return ops.resize_grad(c.grad_output, c.shape, **options)


register_op_impl([getattr(aten, f"{name}_backward").default for name in _MODES if "nearest" not in name])(
    _gradient_when_traced
)
add({f"{name}.default {name}_backward.default": _resized for name in _MODES})
