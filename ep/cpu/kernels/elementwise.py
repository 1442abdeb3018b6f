"""The launchers of elementwise ops."""

from __future__ import annotations

from typing import Any

from ep.common.attributes import attribute_values
from ep.common.primitive.signature import Signature
from ep.cpu.engine.form import Launcher
from ep.cpu.engine.map.entry import compile_streaming, map_launcher, walk_launcher
from ep.cpu.kernels.cast import cast_kernel
from ep.cpu.kernels.functors import is_light, op_kernel
from ep.cpu.kernels.grain import grain_elements
from ep.cpu.shared.context import LATER, NONE
from ep.cpu.shared.state import LaunchState
from ep.include.primitive.primitive import Request
from ep.include.primitive.unary_op import UnaryOp


def unary_launcher(request: Request, signature: Signature, state: LaunchState) -> Launcher:
    """Return the launcher of ElementwiseUnary and Cast."""
    return map_launcher(state, _prepared(request, signature, state))


def broadcast_launcher(request: Request, signature: Signature, state: LaunchState) -> Launcher:
    """Return the launcher of BroadcastElementwiseUnary and BroadcastElementwiseBinary."""
    return walk_launcher(signature, state, _prepared(request, signature, state))


def _prepared(request: Request, signature: Signature, state: LaunchState) -> int:
    """Return the row kernel of the op, and write the op's attributes to the state."""
    op, (src_type, dst_type) = _op(request), request.dtypes or ()
    grain = grain_elements(op, signature.data_types((src_type, dst_type)))  # type: ignore[arg-type]
    # an op that is bound by computation loses no time by writing through tiles, and needs no second kernel
    state.set(grain=grain, streaming_kernel=LATER if is_light(op, src_type) else NONE)
    values = attribute_values(request)
    state.set_reals(attributes=values)
    return _row_kernel(request)


def set_streaming(request: Request, state: LaunchState) -> None:
    """Compile the row kernel with non-temporal stores into the state, if there is one."""
    compile_streaming(state, lambda: _row_kernel(request, streaming=True))


def _op(request: Request) -> Any:
    """Return the requested op; the key of Cast has none."""
    return request.op or UnaryOp.kCast


def _row_kernel(request: Request, streaming: bool = False) -> int:
    op, (src_type, dst_type) = _op(request), request.dtypes or ()
    if op in (UnaryOp.kCast, UnaryOp.kIdentity):  # by size if nothing is converted
        return cast_kernel(src_type, dst_type, streaming)
    return op_kernel(op, src_type, dst_type, attribute_values(request), streaming)
