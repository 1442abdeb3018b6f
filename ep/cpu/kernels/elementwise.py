"""From a request for an op to what its Launch calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ep.common.attributes import attribute_values
from ep.common.primitive.signature import Signature
from ep.cpu.engine.context import LATER, NONE
from ep.cpu.engine.map.entry import map_entry, walk_entry
from ep.cpu.engine.map.state import MAP_STATE
from ep.cpu.engine.state import LaunchState
from ep.cpu.kernels.functors import is_light, op_kernel
from ep.cpu.kernels.grain import grain_elements
from ep.include.primitive.primitive import Request


def unary_entry(request: Request, signature: Signature, state: LaunchState) -> Callable[..., int]:
    """The entry (state, count, src, dst) of ElementwiseUnary."""
    return map_entry("elementwise_unary", signature, state, _prepared(request, signature, state))


def binary_entry(request: Request, signature: Signature, state: LaunchState) -> Callable[..., int]:
    """The entry (state, plan, dims, src0, src1, dst) of BroadcastElementwiseBinary."""
    return walk_entry("broadcast_elementwise_binary", signature, state, _prepared(request, signature, state))


def _prepared(request: Request, signature: Signature, state: LaunchState) -> int:
    """The row kernel of the op, whose attributes are written to the state."""
    op: Any = request.op
    src_type, dst_type = request.dtypes or ()
    grain = grain_elements(op, signature.data_types((src_type, dst_type)))  # type: ignore[arg-type]
    # an op that computes has time to write by tiles, and needs no second kernel
    state.set(grain=grain, streaming_kernel=LATER if is_light(op, src_type) else NONE)
    values = attribute_values(request)
    state.set_reals(attributes=values)
    return op_kernel(op, src_type, dst_type, values)


def set_streaming(request: Request, state: LaunchState) -> None:
    """Compile the row kernel that writes past the caches, where there is one, and write it to the state."""
    if state.words[MAP_STATE.streaming_kernel] == LATER:
        op: Any = request.op
        kernel = op_kernel(op, *(request.dtypes or ()), attribute_values(request), streaming=True)
        state.set(streaming_kernel=kernel)
