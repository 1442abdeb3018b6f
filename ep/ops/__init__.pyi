"""The types of `ep.ops`. Written by tools/ops_stub.py."""

from collections.abc import Iterable, Sequence
from typing import Any, overload

from ep.include.array_types import Array, ArrayLike, HostArray, HostArrayLike
from ep.include.data_type import DTypeLike
from ep.include.device_type import DeviceType
from ep.ops.indices import IndexMode
from ep.ops.resize import ResizeMode
from ep.ops.scatter_rows import Reduction
from ep.ops.devices import copy_to_device as copy_to_device
from ep.ops.devices import copy_to_host as copy_to_host
from ep.ops.full import full as full
from ep.ops.gradients import vjp as vjp

@overload
def abs(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """|x|; the most negative integer stays as it is."""
@overload
def abs(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def acos(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function acos of x."""
@overload
def acos(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def acosh(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function acosh of x."""
@overload
def acosh(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def adaptive_average_pool(x: HostArrayLike, sizes: Any) -> HostArray:
    """Return the means of windows that divide `x` into `sizes`, as PyTorch's `adaptive_avg_pool1d` to `3d`."""
@overload
def adaptive_average_pool(x: ArrayLike, sizes: Any) -> Array: ...

@overload
def adaptive_average_pool_grad(dy: HostArrayLike, shape: Any) -> HostArray:
    """Return the gradient of `adaptive_average_pool`: each element of x has shares of the `dy` of its windows."""
@overload
def adaptive_average_pool_grad(dy: ArrayLike, shape: Any) -> Array: ...

@overload
def add(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """a + b."""
@overload
def add(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

def add_grad(dy: ArrayLike, x: ArrayLike, y: ArrayLike) -> list[Any]:
    """Return the gradients of `add` by x and y, each summed over what was broadcast in it."""

@overload
def all(x: HostArrayLike, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, *, out: HostArray | None = None) -> HostArray:
    """Return whether all elements along axes are true (not 0), as `numpy.all`; True if there are none."""
@overload
def all(x: ArrayLike, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, *, out: Array | None = None) -> Array: ...

@overload
def any(x: HostArrayLike, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, *, out: HostArray | None = None) -> HostArray:
    """Return whether any element along axes is true (not 0), as `numpy.any`; False if there are none."""
@overload
def any(x: ArrayLike, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, *, out: Array | None = None) -> Array: ...

def arange(start: float, stop: float | None = None, step: float = 1, *, dtype: DTypeLike | None = None, device: DeviceType | str | None = None, device_index: int = 0) -> Array:
    """Return the numbers from `start` to `stop`, which is not included, in steps, as `numpy.arange`."""

@overload
def argmax(x: HostArrayLike, axis: int | None = None, keepdims: bool = False, *, out: HostArray | None = None) -> HostArray:
    """Return the place of the largest element along an axis, as `numpy.argmax`: of equal ones the first."""
@overload
def argmax(x: ArrayLike, axis: int | None = None, keepdims: bool = False, *, out: Array | None = None) -> Array: ...

@overload
def argmin(x: HostArrayLike, axis: int | None = None, keepdims: bool = False, *, out: HostArray | None = None) -> HostArray:
    """Return the place of the least element along an axis, as `numpy.argmin`: of equal ones the first."""
@overload
def argmin(x: ArrayLike, axis: int | None = None, keepdims: bool = False, *, out: Array | None = None) -> Array: ...

@overload
def argsort(x: HostArrayLike, axis: int = -1, descending: bool = False, stable: bool = True, *, out: HostArray | None = None) -> HostArray:
    """Return the places of all elements along an axis in their order, as `numpy.argsort`."""
@overload
def argsort(x: ArrayLike, axis: int = -1, descending: bool = False, stable: bool = True, *, out: Array | None = None) -> Array: ...

@overload
def argtopk(x: HostArrayLike, k: int, axis: int = -1, largest: bool = True, *, out: HostArray | None = None) -> HostArray:
    """Return the places of the largest elements along an axis, the largest first; of equal ones the first."""
@overload
def argtopk(x: ArrayLike, k: int, axis: int = -1, largest: bool = True, *, out: Array | None = None) -> Array: ...

@overload
def asin(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function asin of x."""
@overload
def asin(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def asinh(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function asinh of x."""
@overload
def asinh(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def atan(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function atan of x."""
@overload
def atan(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def atanh(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function atanh of x."""
@overload
def atanh(x: ArrayLike, *, out: Array | None = None) -> Array: ...

def attention(q: ArrayLike, k: ArrayLike, v: ArrayLike, mask: ArrayLike | None = None, *, is_causal: bool = False, offset: int = 0, scale: float | None = None, softcap: float = 0.0, return_lse: bool = False) -> Any:
    """Return `softmax(q @ k.T * scale) @ v`, as `torch.nn.functional.scaled_dot_product_attention`."""

def attention_grad(dy: ArrayLike, q: ArrayLike, k: ArrayLike, v: ArrayLike, y: ArrayLike, lse: ArrayLike, mask: ArrayLike | None = None, *, is_causal: bool = False, offset: int = 0, scale: float | None = None, softcap: float = 0.0, by_mask: bool = False) -> list[Any]:
    """Return the gradients of `attention` by q, k and v: each has the shape and dtype of its operand."""

@overload
def average_pool(x: HostArrayLike, kernel: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, ceil_mode: bool = False, count_include_pad: bool = False, divisor: int | None = None, *, out: HostArray | None = None) -> HostArray:
    """Return the mean of each window of `x`, as ONNX's AveragePool and PyTorch's `avg_pool1d` to `avg_pool3d`."""
@overload
def average_pool(x: ArrayLike, kernel: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, ceil_mode: bool = False, count_include_pad: bool = False, divisor: int | None = None, *, out: Array | None = None) -> Array: ...

@overload
def average_pool_grad(dy: HostArrayLike, shape: Any, kernel: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, ceil_mode: bool = False, count_include_pad: bool = False, divisor: int | None = None, *, out: HostArray | None = None) -> HostArray:
    """Return the gradient of `average_pool`: for each element of x, the sum of the shares of its windows' `dy`."""
@overload
def average_pool_grad(dy: ArrayLike, shape: Any, kernel: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, ceil_mode: bool = False, count_include_pad: bool = False, divisor: int | None = None, *, out: Array | None = None) -> Array: ...

@overload
def batch_gather(params: HostArrayLike, indices: HostArrayLike, mode: IndexMode = 'raise', *, out: HostArray | None = None) -> HostArray:
    """Return, for each batch, the elements of `params` that `indices` of the batch selects: OneFlow's BatchGather."""
@overload
def batch_gather(params: ArrayLike, indices: ArrayLike, mode: IndexMode = 'raise', *, out: Array | None = None) -> Array: ...

@overload
def batch_gather_grad(dy: HostArrayLike, indices: HostArrayLike, shape: Any, mode: IndexMode = 'raise', *, out: HostArray | None = None) -> HostArray:
    """Return the gradient of `batch_gather` with respect to params; the arguments are those of `gather_grad`."""
@overload
def batch_gather_grad(dy: ArrayLike, indices: ArrayLike, shape: Any, mode: IndexMode = 'raise', *, out: Array | None = None) -> Array: ...

@overload
def bitwise_and(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """a & b."""
@overload
def bitwise_and(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def bitwise_not(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Return x with every bit inverted."""
@overload
def bitwise_not(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def bitwise_or(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """a | b."""
@overload
def bitwise_or(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def bitwise_xor(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """a ^ b."""
@overload
def bitwise_xor(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def broadcast_to(x: HostArrayLike, shape: Any) -> HostArray:
    """Return `x` repeated to a shape, as `numpy.broadcast_to`, in a new array: `expand`, in which -1 keeps a size."""
@overload
def broadcast_to(x: ArrayLike, shape: Any) -> Array: ...

@overload
def cast(x: HostArrayLike, dtype: DTypeLike, *, out: HostArray | None = None) -> HostArray:
    """Return `x` in another data type, as `numpy.astype`."""
@overload
def cast(x: ArrayLike, dtype: DTypeLike, *, out: Array | None = None) -> Array: ...

@overload
def ceil(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function ceil of x."""
@overload
def ceil(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def celu(x: HostArrayLike, alpha: float = 1.0, *, out: HostArray | None = None) -> HostArray:
    """alpha (e^(x / alpha) - 1) up to 0, x above."""
@overload
def celu(x: ArrayLike, alpha: float = 1.0, *, out: Array | None = None) -> Array: ...

@overload
def clip(x: HostArrayLike, min: HostArrayLike | None = None, max: HostArrayLike | None = None, *, out: Any = None) -> HostArray:
    """Return `minimum(maximum(x, min), max)`, as `numpy.clip`; None is no bound."""
@overload
def clip(x: ArrayLike, min: ArrayLike | None = None, max: ArrayLike | None = None, *, out: Any = None) -> Array: ...

@overload
def concat(arrays: Sequence[HostArrayLike], axis: int | None = 0) -> HostArray:
    """Return arrays joined along an axis, as `numpy.concat`."""
@overload
def concat(arrays: Sequence[ArrayLike], axis: int | None = 0) -> Array: ...

@overload
def conj(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Return the complex conjugate: the imaginary part is negated."""
@overload
def conj(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def conv(x: HostArrayLike, w: HostArrayLike, bias: HostArrayLike | None = None, strides: Any = 1, pads: Any = 0, dilations: Any = 1, groups: int = 1, *, out: HostArray | None = None) -> HostArray:
    """Return the convolution of `x` with `w`, as ONNX's Conv and PyTorch's `conv1d` to `conv3d`."""
@overload
def conv(x: ArrayLike, w: ArrayLike, bias: ArrayLike | None = None, strides: Any = 1, pads: Any = 0, dilations: Any = 1, groups: int = 1, *, out: Array | None = None) -> Array: ...

@overload
def conv_integer(x: HostArrayLike, w: HostArrayLike, x_zero_point: HostArrayLike | None = None, w_zero_point: HostArrayLike | None = None, strides: Any = 1, pads: Any = 0, dilations: Any = 1, groups: int = 1, *, out: HostArray | None = None) -> HostArray:
    """Return the int32 convolution of `x` with `w`, arrays of 8-bit integers, as ONNX's ConvInteger."""
@overload
def conv_integer(x: ArrayLike, w: ArrayLike, x_zero_point: ArrayLike | None = None, w_zero_point: ArrayLike | None = None, strides: Any = 1, pads: Any = 0, dilations: Any = 1, groups: int = 1, *, out: Array | None = None) -> Array: ...

@overload
def conv_w_grad(dy: HostArrayLike, x: HostArrayLike, shape: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, groups: int = 1, *, out: HostArray | None = None) -> HostArray:
    """Return the gradient of `conv` with respect to w: the sums of x times `dy` over all windows, by place in a window."""
@overload
def conv_w_grad(dy: ArrayLike, x: ArrayLike, shape: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, groups: int = 1, *, out: Array | None = None) -> Array: ...

@overload
def conv_x_grad(dy: HostArrayLike, w: HostArrayLike, shape: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, groups: int = 1, *, out: HostArray | None = None) -> HostArray:
    """Return the gradient of `conv` with respect to x: the sums of `dy` times w over all windows with an element."""
@overload
def conv_x_grad(dy: ArrayLike, w: ArrayLike, shape: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, groups: int = 1, *, out: Array | None = None) -> Array: ...

@overload
def cos(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function cos of x."""
@overload
def cos(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def cosh(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function cosh of x."""
@overload
def cosh(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def cumulative_prod(x: HostArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False, *, reverse: bool = False, out: HostArray | None = None) -> HostArray:
    """Return the products of all elements up to each one along an axis, as `numpy.cumulative_prod`."""
@overload
def cumulative_prod(x: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False, *, reverse: bool = False, out: Array | None = None) -> Array: ...

@overload
def cumulative_sum(x: HostArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False, *, reverse: bool = False, out: HostArray | None = None) -> HostArray:
    """Return the sums of all elements up to each one along an axis, as `numpy.cumulative_sum`."""
@overload
def cumulative_sum(x: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False, *, reverse: bool = False, out: Array | None = None) -> Array: ...

@overload
def dequantize(x: HostArrayLike, scale: HostArrayLike, zero_point: HostArrayLike | None = None, dtype: DTypeLike | None = None, axis: int = 1, block_size: int = 0) -> HostArray:
    """Return `(x - zero_point) * scale`, as ONNX's DequantizeLinear."""
@overload
def dequantize(x: ArrayLike, scale: ArrayLike, zero_point: ArrayLike | None = None, dtype: DTypeLike | None = None, axis: int = 1, block_size: int = 0) -> Array: ...

@overload
def digamma(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """psi(x) = d/dx ln gamma(x); -inf at +0, +inf at -0, NaN at the other poles."""
@overload
def digamma(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def div(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """a / b."""
@overload
def div(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

def div_grad(dy: ArrayLike, x: ArrayLike, y: ArrayLike) -> list[Any]:
    """Return the gradients of `div` by x and y, each summed over what was broadcast in it."""

@overload
def elu(x: HostArrayLike, alpha: float = 1.0, *, out: HostArray | None = None) -> HostArray:
    """alpha (e^x - 1) up to 0, x above."""
@overload
def elu(x: ArrayLike, alpha: float = 1.0, *, out: Array | None = None) -> Array: ...

@overload
def equal(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """a = b."""
@overload
def equal(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def erf(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function erf of x."""
@overload
def erf(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def erfc(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function erfc of x."""
@overload
def erfc(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def exp(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function exp of x."""
@overload
def exp(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def exp2(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function exp2 of x."""
@overload
def exp2(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def expand(x: HostArrayLike, *sizes: Any, out: HostArray | None = None) -> HostArray:
    """Return `x` repeated to `sizes`."""
@overload
def expand(x: ArrayLike, *sizes: Any, out: Array | None = None) -> Array: ...

@overload
def expand_dims(x: HostArrayLike, axis: int | tuple[int, ...] = 0) -> HostArray:
    """Return `x` with new axes of size 1, as `numpy.expand_dims`, in a new array."""
@overload
def expand_dims(x: ArrayLike, axis: int | tuple[int, ...] = 0) -> Array: ...

@overload
def expand_grad(dy: HostArrayLike, shape: Any, *, out: HostArray | None = None) -> HostArray:
    """Return the gradient of `expand`: the sum of `dy` over the axes that were new or were expanded."""
@overload
def expand_grad(dy: ArrayLike, shape: Any, *, out: Array | None = None) -> Array: ...

@overload
def expm1(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function expm1 of x."""
@overload
def expm1(x: ArrayLike, *, out: Array | None = None) -> Array: ...

def eye(n_rows: int, n_cols: int | None = None, *, k: int = 0, dtype: DTypeLike | None = None, device: DeviceType | str | None = None, device_index: int = 0) -> Array:
    """Return a matrix with ones on a diagonal and zeros elsewhere, as `numpy.eye`."""

@overload
def fast_gelu(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """x / 2 (1 + tanh(A (x + B x^3))), as x sigmoid(2 A (x + B x^3))."""
@overload
def fast_gelu(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def flip(x: HostArrayLike, axis: int | tuple[int, ...] | None = None) -> HostArray:
    """Return the elements of `x` in the reverse order along axes, as `numpy.flip`."""
@overload
def flip(x: ArrayLike, axis: int | tuple[int, ...] | None = None) -> Array: ...

@overload
def floor(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function floor of x."""
@overload
def floor(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def floor_div(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Return the rounded quotient, rounded down; it differs from Python's: see docs/semantics.md."""
@overload
def floor_div(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def floor_mod(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Return the remainder of the floored quotient, with the sign of b; for a floating 0 see docs/semantics.md."""
@overload
def floor_mod(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def fmod(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Return the remainder of the truncated quotient: it has the sign of a."""
@overload
def fmod(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def fold(x: HostArrayLike, sizes: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, *, out: HostArray | None = None) -> HostArray:
    """Return the sums of windows at their places: each element is the sum over all windows that contain it."""
@overload
def fold(x: ArrayLike, sizes: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, *, out: Array | None = None) -> Array: ...

@overload
def full_like(x: HostArrayLike, fill_value: complex, dtype: DTypeLike | None = None) -> HostArray:
    """Return a new array of one number, with the shape of `x` and where it is, as `numpy.full_like`."""
@overload
def full_like(x: ArrayLike, fill_value: complex, dtype: DTypeLike | None = None) -> Array: ...

@overload
def gather(params: HostArrayLike, indices: HostArrayLike, axis: int | None = None, batch_dims: int = 0, mode: IndexMode = 'raise', *, out: HostArray | None = None) -> HostArray:
    """Return the elements of `params` that `indices` selects along `axis`, as `tensorflow.gather`."""
@overload
def gather(params: ArrayLike, indices: ArrayLike, axis: int | None = None, batch_dims: int = 0, mode: IndexMode = 'raise', *, out: Array | None = None) -> Array: ...

@overload
def gather_grad(dy: HostArrayLike, indices: HostArrayLike, shape: Any, axis: int | None = None, batch_dims: int = 0, mode: IndexMode = 'raise', *, out: HostArray | None = None) -> HostArray:
    """Return the gradient of `gather` with respect to params: for each row, the sum of `dy` over its copies."""
@overload
def gather_grad(dy: ArrayLike, indices: ArrayLike, shape: Any, axis: int | None = None, batch_dims: int = 0, mode: IndexMode = 'raise', *, out: Array | None = None) -> Array: ...

@overload
def gather_nd(x: HostArrayLike, indices: HostArrayLike, batch_dims: int = 0, mode: IndexMode = 'raise') -> HostArray:
    """Return the parts of `x` whose indices along its first axes are the last axis of `indices`, as ONNX's GatherND."""
@overload
def gather_nd(x: ArrayLike, indices: ArrayLike, batch_dims: int = 0, mode: IndexMode = 'raise') -> Array: ...

@overload
def gelu(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """x / 2 (1 + erf(x / sqrt 2)), as x / 2 erfc(-x / sqrt 2), which does not cancel on the left."""
@overload
def gelu(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def greater_equal(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """a >= b."""
@overload
def greater_equal(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def greater_than(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """a > b."""
@overload
def greater_than(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

def group_norm(x: ArrayLike, weight: ArrayLike | None = None, bias: ArrayLike | None = None, *, num_groups: int, epsilon: float = 1e-05, return_statistics: bool = False) -> Any:
    """Return x, normalised over each group of channels of each sample, as `torch.nn.functional.group_norm`."""

def group_norm_grad(dy: ArrayLike, x: ArrayLike, mean: ArrayLike, inverse: ArrayLike, weight: ArrayLike | None = None, bias: ArrayLike | None = None, *, num_groups: int, wanted: Sequence[bool] = (True, True, True)) -> list[Array | None]:
    """Return the gradients of `group_norm` by x, weight and bias, as `layer_norm_grad` does."""

@overload
def hard_shrink(x: HostArrayLike, lambd: float = 0.5, *, out: HostArray | None = None) -> HostArray:
    """0 where -bound <= x <= bound, x elsewhere."""
@overload
def hard_shrink(x: ArrayLike, lambd: float = 0.5, *, out: Array | None = None) -> Array: ...

@overload
def hard_sigmoid(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """x / 6 + 1/2 clamped to 0 ... 1, as (x + 3) / 6, which does not cancel near -3."""
@overload
def hard_sigmoid(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def hard_swish(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """0 up to -3, x from 3 on, x (x + 3) / 6 between."""
@overload
def hard_swish(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def hard_tanh(x: HostArrayLike, min: float = -1.0, max: float = 1.0, *, out: HostArray | None = None) -> HostArray:
    """x clamped to low ... high; low is tested first."""
@overload
def hard_tanh(x: ArrayLike, min: float = -1.0, max: float = 1.0, *, out: Array | None = None) -> Array: ...

@overload
def hypot(x: HostArrayLike, y: HostArrayLike) -> HostArray:
    """Return `sqrt(x * x + y * y)`, as `numpy.hypot`: without overflow, and infinity if one operand is infinite."""
@overload
def hypot(x: ArrayLike, y: ArrayLike) -> Array: ...

@overload
def identity(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """x; a result of another type is converted when it is stored."""
@overload
def identity(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def imag(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Return the imaginary part."""
@overload
def imag(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def imag_grad(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Return the complex number 0 + dy i."""
@overload
def imag_grad(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def index(x: HostArrayLike, indices: Sequence[HostArrayLike | None], axis: int = 0, mode: IndexMode = 'raise') -> HostArray:
    """Return the parts of `x` at indices along axes, as `x[:, i, j]` of NumPy and PyTorch."""
@overload
def index(x: ArrayLike, indices: Sequence[ArrayLike | None], axis: int = 0, mode: IndexMode = 'raise') -> Array: ...

@overload
def index_put(x: HostArrayLike, indices: Sequence[HostArrayLike | None], updates: HostArrayLike, axis: int = 0, reduction: Reduction = 'none', mode: IndexMode = 'raise') -> HostArray:
    """Return `x` with `updates` in the parts that `index` would read: `x[:, i, j] = updates` in a new array."""
@overload
def index_put(x: ArrayLike, indices: Sequence[ArrayLike | None], updates: ArrayLike, axis: int = 0, reduction: Reduction = 'none', mode: IndexMode = 'raise') -> Array: ...

@overload
def is_close(x: HostArrayLike, y: HostArrayLike, *, atol: float = 1e-08, rtol: float = 1e-05, out: HostArray | None = None) -> HostArray:
    """|a - b| <= atol + rtol |b| for a finite b, or a = b, as `numpy.isclose` has it."""
@overload
def is_close(x: ArrayLike, y: ArrayLike, *, atol: float = 1e-08, rtol: float = 1e-05, out: Array | None = None) -> Array: ...

@overload
def is_close_equal_nan(x: HostArrayLike, y: HostArrayLike, *, atol: float = 1e-08, rtol: float = 1e-05, out: HostArray | None = None) -> HostArray:
    """As kIsClose, and NaN is close to NaN."""
@overload
def is_close_equal_nan(x: ArrayLike, y: ArrayLike, *, atol: float = 1e-08, rtol: float = 1e-05, out: Array | None = None) -> Array: ...

@overload
def is_finite(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Return whether x is neither +-inf nor a NaN."""
@overload
def is_finite(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def is_inf(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Return whether x is +-inf."""
@overload
def is_inf(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def is_nan(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Return whether x is a NaN."""
@overload
def is_nan(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def isclose(x: HostArrayLike, y: HostArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False, *, out: Any = None) -> HostArray:
    """Return whether `|x - y| <= atol + rtol * |y|`, as `numpy.isclose`: `is_close`, or `is_close_equal_nan`."""
@overload
def isclose(x: ArrayLike, y: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False, *, out: Any = None) -> Array: ...

def layer_norm(x: ArrayLike, weight: ArrayLike | None = None, bias: ArrayLike | None = None, axis: int | Sequence[int] = -1, epsilon: float = 1e-05, *, return_statistics: bool = False) -> Any:
    """Return `(x - mean) / sqrt(variance + epsilon) * weight + bias`, as `torch.nn.functional.layer_norm`."""

def layer_norm_grad(dy: ArrayLike, x: ArrayLike, mean: ArrayLike, inverse: ArrayLike, weight: ArrayLike | None = None, bias: ArrayLike | None = None, axis: int | Sequence[int] = -1, *, wanted: Sequence[bool] = (True, True, True)) -> list[Array | None]:
    """Return the gradients of `layer_norm` by x, weight and bias: each has the shape and dtype of its operand."""

@overload
def leaky_relu(x: HostArrayLike, alpha: float = 0.01, *, out: HostArray | None = None) -> HostArray:
    """alpha x up to 0, x above."""
@overload
def leaky_relu(x: ArrayLike, alpha: float = 0.01, *, out: Array | None = None) -> Array: ...

@overload
def less_equal(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """a <= b."""
@overload
def less_equal(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def less_than(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """a < b."""
@overload
def less_than(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def lgamma(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function lgamma of x."""
@overload
def lgamma(x: ArrayLike, *, out: Array | None = None) -> Array: ...

def linspace(start: complex, stop: complex, num: int, *, dtype: DTypeLike | None = None, endpoint: bool = True, device: DeviceType | str | None = None, device_index: int = 0) -> Array:
    """Return `num` numbers in equal distances from `start` to `stop`, as `numpy.linspace`."""

@overload
def log(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function log of x."""
@overload
def log(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def log10(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function log10 of x."""
@overload
def log10(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def log1p(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function log1p of x."""
@overload
def log1p(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def log2(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function log2 of x."""
@overload
def log2(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def log_sigmoid(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """-ln(1 + e^-x)."""
@overload
def log_sigmoid(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def log_softmax(x: HostArrayLike, axis: int = -1, *, out: HostArray | None = None) -> HostArray:
    """Return the logarithm of `softmax`, as `scipy.special.log_softmax`; it is accurate even if `softmax` rounds to 0."""
@overload
def log_softmax(x: ArrayLike, axis: int = -1, *, out: Array | None = None) -> Array: ...

@overload
def log_softmax_grad(*, dy: HostArrayLike, y: HostArrayLike, axis: int = -1, out: HostArray | None = None) -> HostArray:
    """Return the gradient of `log_softmax`: `dy - exp(y) * sum(dy)`, the sum along the axis."""
@overload
def log_softmax_grad(*, dy: ArrayLike, y: ArrayLike, axis: int = -1, out: Array | None = None) -> Array: ...

@overload
def logaddexp(x: HostArrayLike, y: HostArrayLike) -> HostArray:
    """Return `log(exp(x) + exp(y))`, as `numpy.logaddexp`, without overflow."""
@overload
def logaddexp(x: ArrayLike, y: ArrayLike) -> Array: ...

@overload
def logical_and(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Whether both are true; NaN is true."""
@overload
def logical_and(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def logical_not(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """x == 0: true for -0, false for a NaN."""
@overload
def logical_not(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def logical_or(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Whether at least one of them is true."""
@overload
def logical_or(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def logical_xor(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Whether exactly one of them is true."""
@overload
def logical_xor(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def matmul(x1: HostArrayLike, x2: HostArrayLike, transpose_x1: bool = False, transpose_x2: bool = False, *, out: HostArray | None = None) -> HostArray:
    """Return the product of matrices, as `numpy.matmul`."""
@overload
def matmul(x1: ArrayLike, x2: ArrayLike, transpose_x1: bool = False, transpose_x2: bool = False, *, out: Array | None = None) -> Array: ...

def matmul_grad(dy: ArrayLike, x1: ArrayLike, x2: ArrayLike, transpose_x1: bool = False, transpose_x2: bool = False) -> list[Array]:
    """Return the gradients of `matmul` with respect to x1 and x2: products of dy with the other operand."""

@overload
def matmul_integer(a: HostArrayLike, b: HostArrayLike, a_zero_point: HostArrayLike | None = None, b_zero_point: HostArrayLike | None = None, *, out: HostArray | None = None) -> HostArray:
    """Return the int32 product of matrices of 8-bit integers, as ONNX's MatMulInteger."""
@overload
def matmul_integer(a: ArrayLike, b: ArrayLike, a_zero_point: ArrayLike | None = None, b_zero_point: ArrayLike | None = None, *, out: Array | None = None) -> Array: ...

@overload
def matrix_transpose(x: HostArrayLike) -> HostArray:
    """Return `x` with its last two axes exchanged, as `numpy.matrix_transpose`; ValueError if it has fewer."""
@overload
def matrix_transpose(x: ArrayLike) -> Array: ...

@overload
def max(x: HostArrayLike, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, *, out: HostArray | None = None) -> HostArray:
    """Return the largest element along axes, as `numpy.max`; NaN if one of them is NaN. `maximum` is for two arrays."""
@overload
def max(x: ArrayLike, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, *, out: Array | None = None) -> Array: ...

@overload
def max_pool(x: HostArrayLike, kernel: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, ceil_mode: bool = False, *, out: HostArray | None = None) -> HostArray:
    """Return the largest element of each window of `x`, as ONNX's MaxPool and PyTorch's `max_pool1d` to `max_pool3d`."""
@overload
def max_pool(x: ArrayLike, kernel: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, ceil_mode: bool = False, *, out: Array | None = None) -> Array: ...

@overload
def max_pool_labels(x: HostArrayLike, labels: HostArrayLike, kernel: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, ceil_mode: bool = False, *, out: HostArray | None = None) -> HostArray:
    """Return the label of the largest element of each window of `x`: which element `max_pool` takes."""
@overload
def max_pool_labels(x: ArrayLike, labels: ArrayLike, kernel: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, ceil_mode: bool = False, *, out: Array | None = None) -> Array: ...

def max_pool_with_indices(x: ArrayLike, kernel: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, ceil_mode: bool = False) -> list[Array]:
    """Return the largest element of each window of `x`, and its index, as PyTorch's `max_pool2d` with `return_indices`."""

@overload
def max_unpool(x: HostArrayLike, indices: Any, sizes: Any) -> HostArray:
    """Return zeros with the elements of `x` at indices, as PyTorch's `max_unpool2d`: the gradient of `max_pool`."""
@overload
def max_unpool(x: ArrayLike, indices: Any, sizes: Any) -> Array: ...

@overload
def maximum(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Return the larger one, b where they are equal; NaN if either is."""
@overload
def maximum(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

def maximum_grad(dy: ArrayLike, x: ArrayLike, y: ArrayLike) -> list[Any]:
    """Return the gradients of `maximum` by x and y, each summed over what was broadcast in it."""

@overload
def mean(x: HostArrayLike, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike | None = None, keepdims: bool = False, *, out: HostArray | None = None) -> HostArray:
    """Return the mean of elements along axes, as `numpy.mean`; NaN if there are none."""
@overload
def mean(x: ArrayLike, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike | None = None, keepdims: bool = False, *, out: Array | None = None) -> Array: ...

@overload
def min(x: HostArrayLike, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, *, out: HostArray | None = None) -> HostArray:
    """Return the least element along axes, as `numpy.min`; NaN if one of them is NaN. `minimum` is for two arrays."""
@overload
def min(x: ArrayLike, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, *, out: Array | None = None) -> Array: ...

@overload
def minimum(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Return the smaller one, b where they are equal; NaN if either is."""
@overload
def minimum(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

def minimum_grad(dy: ArrayLike, x: ArrayLike, y: ArrayLike) -> list[Any]:
    """Return the gradients of `minimum` by x and y, each summed over what was broadcast in it."""

@overload
def mish(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """x tanh(ln(1 + e^x)), where tanh(ln(1 + u)) = u (u + 2) / (u (u + 2) + 2) for u = e^x."""
@overload
def mish(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def moveaxis(x: HostArrayLike, source: int | tuple[int, ...], destination: int | tuple[int, ...]) -> HostArray:
    """Return `x` with some axes in other positions, as `numpy.moveaxis`; the others keep their order."""
@overload
def moveaxis(x: ArrayLike, source: int | tuple[int, ...], destination: int | tuple[int, ...]) -> Array: ...

@overload
def mul(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """a b."""
@overload
def mul(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

def mul_grad(dy: ArrayLike, x: ArrayLike, y: ArrayLike) -> list[Any]:
    """Return the gradients of `mul` by x and y, each summed over what was broadcast in it."""

@overload
def nan_assign(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """0 for a NaN, else x."""
@overload
def nan_assign(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def negative(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """-x."""
@overload
def negative(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def not_equal(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """a != b, true with NaN."""
@overload
def not_equal(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def not_equal_zero(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """1 where x != 0 (so for a NaN), else 0."""
@overload
def not_equal_zero(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def one_hot(indices: HostArrayLike, num_classes: int, on_value: complex = 1, off_value: complex = 0, dtype: DTypeLike | None = None, *, out: HostArray | None = None) -> HostArray:
    """Return a row for each index: `on_value` at the place of the index, and `off_value` elsewhere."""
@overload
def one_hot(indices: ArrayLike, num_classes: int, on_value: complex = 1, off_value: complex = 0, dtype: DTypeLike | None = None, *, out: Array | None = None) -> Array: ...

def ones(shape: Any, dtype: DTypeLike | None = None, *, device: DeviceType | str | None = None, device_index: int = 0) -> Array:
    """Return a new array of ones, as `numpy.ones`; the arguments are those of `full`, dtype float64 by default."""

@overload
def ones_like(x: HostArrayLike, dtype: DTypeLike | None = None) -> HostArray:
    """Return ones with the shape of `x` and where it is, as `numpy.ones_like`; `full_like` has the arguments."""
@overload
def ones_like(x: ArrayLike, dtype: DTypeLike | None = None) -> Array: ...

@overload
def pad(x: HostArrayLike, pad_width: Any, *, constant_values: complex = 0, out: HostArray | None = None) -> HostArray:
    """Return `x` with elements of one value around it, as `numpy.pad` with its mode "constant"."""
@overload
def pad(x: ArrayLike, pad_width: Any, *, constant_values: complex = 0, out: Array | None = None) -> Array: ...

@overload
def permute(x: HostArrayLike, axes: Iterable[int], *, out: HostArray | None = None) -> HostArray:
    """Return `x` with its axes in the order `axes`, as `numpy.permute_dims`: axis i of the result is axis axes[i] of x."""
@overload
def permute(x: ArrayLike, axes: Iterable[int], *, out: Array | None = None) -> Array: ...

@overload
def pow(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """a^b by C's rules: 1 for b = 0 and for a = 1, even if the other one is NaN."""
@overload
def pow(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

def pow_grad(dy: ArrayLike, x: ArrayLike, y: ArrayLike) -> list[Any]:
    """Return the gradients of `pow` by x and y, each summed over what was broadcast in it."""

@overload
def prod(x: HostArrayLike, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike | None = None, keepdims: bool = False, *, out: HostArray | None = None) -> HostArray:
    """Return the product of elements along axes, as `numpy.prod`; its parameters are those of `sum`."""
@overload
def prod(x: ArrayLike, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike | None = None, keepdims: bool = False, *, out: Array | None = None) -> Array: ...

@overload
def quantize(x: HostArrayLike, scale: HostArrayLike, zero_point: HostArrayLike | None = None, dtype: DTypeLike | None = None, axis: int = 1, block_size: int = 0) -> HostArray:
    """Return `rint(x / scale) + zero_point`, limited to the range of an integer type, as ONNX's QuantizeLinear."""
@overload
def quantize(x: ArrayLike, scale: ArrayLike, zero_point: ArrayLike | None = None, dtype: DTypeLike | None = None, axis: int = 1, block_size: int = 0) -> Array: ...

@overload
def quick_gelu(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """x sigmoid(1.702 x), where e^-(p + r) is e^-p (1 - r)."""
@overload
def quick_gelu(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def ravel_multi_index(multi_index: Sequence[HostArrayLike], dims: Any, mode: IndexMode = 'raise', *, out: HostArray | None = None) -> HostArray:
    """Return the indices of elements in a flattened array, as `numpy.ravel_multi_index`, in int64."""
@overload
def ravel_multi_index(multi_index: Sequence[ArrayLike], dims: Any, mode: IndexMode = 'raise', *, out: Array | None = None) -> Array: ...

@overload
def real(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Return the real part."""
@overload
def real(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def real_grad(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Return the complex number dy + 0i."""
@overload
def real_grad(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def reciprocal(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """1 / x."""
@overload
def reciprocal(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def reciprocal_no_nan(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """1 / x, 0 where x is 0."""
@overload
def reciprocal_no_nan(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def relu(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Zero up to 0 (-0 becomes +0), x above; x itself if the type has no negative numbers."""
@overload
def relu(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def repeat(x: HostArrayLike, *sizes: Any, out: HostArray | None = None) -> HostArray:
    """Return `sizes` copies of `x` side by side along each axis, as `numpy.tile`; `numpy.repeat` is another function."""
@overload
def repeat(x: ArrayLike, *sizes: Any, out: Array | None = None) -> Array: ...

@overload
def repeat_grad(dy: HostArrayLike, shape: Any, sizes: Any, *, out: HostArray | None = None) -> HostArray:
    """Return the gradient of `repeat`: the sum of `dy` over the copies."""
@overload
def repeat_grad(dy: ArrayLike, shape: Any, sizes: Any, *, out: Array | None = None) -> Array: ...

@overload
def resample(x: HostArrayLike, places: HostArrayLike, weights: HostArrayLike, axis: int = 0, *, out: HostArray | None = None) -> HostArray:
    """Return weighted sums of elements of `x` along an axis: of one element for each row of `places`."""
@overload
def resample(x: ArrayLike, places: ArrayLike, weights: ArrayLike, axis: int = 0, *, out: Array | None = None) -> Array: ...

@overload
def reshape(x: HostArrayLike, shape: Any) -> HostArray:
    """Return the elements of `x` in another shape, as `numpy.reshape`, in a new array."""
@overload
def reshape(x: ArrayLike, shape: Any) -> Array: ...

@overload
def resize(x: HostArrayLike, sizes: Any, mode: ResizeMode = 'nearest', align_corners: bool = False, scales: Any = None) -> HostArray:
    """Return `x` with spatial axes of other sizes, as PyTorch's `interpolate` without anti-aliasing."""
@overload
def resize(x: ArrayLike, sizes: Any, mode: ResizeMode = 'nearest', align_corners: bool = False, scales: Any = None) -> Array: ...

@overload
def resize_grad(dy: HostArrayLike, shape: Any, mode: ResizeMode = 'nearest', align_corners: bool = False, scales: Any = None) -> HostArray:
    """Return the gradient of `resize`: for each element of x, the weighted sum of the `dy` that it is an addend of."""
@overload
def resize_grad(dy: ArrayLike, shape: Any, mode: ResizeMode = 'nearest', align_corners: bool = False, scales: Any = None) -> Array: ...

@overload
def rint(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function rint of x."""
@overload
def rint(x: ArrayLike, *, out: Array | None = None) -> Array: ...

def rms_norm(x: ArrayLike, weight: ArrayLike | None = None, axis: int | Sequence[int] = -1, epsilon: float = 1e-05, *, return_statistics: bool = False) -> Any:
    """Return `x / sqrt(mean(x * x) + epsilon) * weight`, as `torch.nn.functional.rms_norm`."""

def rms_norm_grad(dy: ArrayLike, x: ArrayLike, inverse: ArrayLike, weight: ArrayLike | None = None, axis: int | Sequence[int] = -1, *, wanted: Sequence[bool] = (True, True)) -> list[Array | None]:
    """Return the gradients of `rms_norm` by x and weight, as `layer_norm_grad` does; `rms_norm` returned `inverse`."""

@overload
def roll(x: HostArrayLike, shift: int | tuple[int, ...], axis: int | tuple[int, ...] | None = None) -> HostArray:
    """Return the elements of `x` moved along axes, as `numpy.roll`: those moved beyond the end begin again."""
@overload
def roll(x: ArrayLike, shift: int | tuple[int, ...], axis: int | tuple[int, ...] | None = None) -> Array: ...

@overload
def round(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function round of x."""
@overload
def round(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def rsqrt(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function rsqrt of x."""
@overload
def rsqrt(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def scalar_base_power_grad(x: HostArrayLike, dy: HostArrayLike, exponent: float, *, out: HostArray | None = None) -> HostArray:
    """c x^(c - 1) dy for the exponent c."""
@overload
def scalar_base_power_grad(x: ArrayLike, dy: ArrayLike, exponent: float, *, out: Array | None = None) -> Array: ...

@overload
def scalar_exp_power_grad(x: HostArrayLike, dy: HostArrayLike, base: float, *, out: HostArray | None = None) -> HostArray:
    """c^x ln(c) dy for the base c."""
@overload
def scalar_exp_power_grad(x: ArrayLike, dy: ArrayLike, base: float, *, out: Array | None = None) -> Array: ...

@overload
def scatter(x: HostArrayLike, indices: HostArrayLike, updates: HostArrayLike, axis: int = -1, reduction: Reduction = 'none', mode: IndexMode = 'raise') -> HostArray:
    """Return `x` with `updates` at the places along an axis that `indices` names, as ONNX's ScatterElements."""
@overload
def scatter(x: ArrayLike, indices: ArrayLike, updates: ArrayLike, axis: int = -1, reduction: Reduction = 'none', mode: IndexMode = 'raise') -> Array: ...

@overload
def scatter_nd(x: HostArrayLike, indices: HostArrayLike, updates: HostArrayLike, reduction: Reduction = 'none', mode: IndexMode = 'raise') -> HostArray:
    """Return `x` with `updates` in the parts that `gather_nd` would read: ONNX's ScatterND, TensorFlow's
    `tensor_scatter_nd_update`."""
@overload
def scatter_nd(x: ArrayLike, indices: ArrayLike, updates: ArrayLike, reduction: Reduction = 'none', mode: IndexMode = 'raise') -> Array: ...

@overload
def scatter_rows(x: HostArrayLike, indices: HostArrayLike, updates: HostArrayLike, axis: int | None = None, batch_dims: int = 0, reduction: Reduction = 'none', mode: IndexMode = 'raise', *, out: HostArray | None = None) -> HostArray:
    """Return `x` with `updates` in the rows that `gather` would read with these indices."""
@overload
def scatter_rows(x: ArrayLike, indices: ArrayLike, updates: ArrayLike, axis: int | None = None, batch_dims: int = 0, reduction: Reduction = 'none', mode: IndexMode = 'raise', *, out: Array | None = None) -> Array: ...

@overload
def segment_sum(data: HostArrayLike, segment_ids: HostArrayLike, num_segments: int, axis: int = 0, *, out: HostArray | None = None) -> HostArray:
    """Return the sums of the parts of `data` along an axis that have the same id, as `jax.ops.segment_sum`."""
@overload
def segment_sum(data: ArrayLike, segment_ids: ArrayLike, num_segments: int, axis: int = 0, *, out: Array | None = None) -> Array: ...

@overload
def selu(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """scale alpha (e^x - 1) up to 0, scale x above."""
@overload
def selu(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def sigmoid(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """1 / (1 + e^-x)."""
@overload
def sigmoid(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def sign(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """1, 0 or -1; 0 for a NaN."""
@overload
def sign(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def silu(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """x sigmoid(x)."""
@overload
def silu(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def sin(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function sin of x."""
@overload
def sin(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def sinh(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function sinh of x."""
@overload
def sinh(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def slice(x: HostArrayLike, *slices: Any, out: HostArray | None = None) -> HostArray:
    """Return a box of `x`, as `x[slices]` of NumPy, for slices with positive steps; it is a copy, not a view."""
@overload
def slice(x: ArrayLike, *slices: Any, out: Array | None = None) -> Array: ...

@overload
def slice_grad(dy: HostArrayLike, shape: Any, *slices: Any, out: HostArray | None = None) -> HostArray:
    """Return the gradient of `slice`: `dy` at the elements of x that the slices selected, and zeros elsewhere."""
@overload
def slice_grad(dy: ArrayLike, shape: Any, *slices: Any, out: Array | None = None) -> Array: ...

@overload
def soft_plus(x: HostArrayLike, beta: float = 1.0, threshold: float = 20.0, *, out: HostArray | None = None) -> HostArray:
    """x where beta x > threshold, else ln(1 + e^(beta x)) / beta."""
@overload
def soft_plus(x: ArrayLike, beta: float = 1.0, threshold: float = 20.0, *, out: Array | None = None) -> Array: ...

@overload
def soft_shrink(x: HostArrayLike, alpha: float = 0.5, *, out: HostArray | None = None) -> HostArray:
    """0 where -alpha <= x <= alpha, x - alpha above, x + alpha below."""
@overload
def soft_shrink(x: ArrayLike, alpha: float = 0.5, *, out: Array | None = None) -> Array: ...

@overload
def soft_sign(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """x / (1 + |x|); +-1 at +-inf."""
@overload
def soft_sign(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def softmax(x: HostArrayLike, axis: int = -1, *, out: HostArray | None = None) -> HostArray:
    """Return `exp(x)` divided by its sum along an axis, as `scipy.special.softmax`, without overflow."""
@overload
def softmax(x: ArrayLike, axis: int = -1, *, out: Array | None = None) -> Array: ...

@overload
def softmax_grad(*, dy: HostArrayLike, y: HostArrayLike, axis: int = -1, out: HostArray | None = None) -> HostArray:
    """Return the gradient of `softmax`: `(dy - sum(y * dy)) * y`, the sum along the axis."""
@overload
def softmax_grad(*, dy: ArrayLike, y: ArrayLike, axis: int = -1, out: Array | None = None) -> Array: ...

@overload
def sort(x: HostArrayLike, axis: int = -1, descending: bool = False, stable: bool = True) -> HostArray:
    """Return the elements along an axis in their order, as `numpy.sort`; `argsort` has the parameters."""
@overload
def sort(x: ArrayLike, axis: int = -1, descending: bool = False, stable: bool = True) -> Array: ...

def split(x: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Return the parts of `x` along an axis, as `numpy.split`; they are copies, not views."""

@overload
def sqrt(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Return the principal root, with C99's special values."""
@overload
def sqrt(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def square(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """x^2."""
@overload
def square(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def square_relu(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Zero up to 0, x^2 above."""
@overload
def square_relu(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def squeeze(x: HostArrayLike, axis: int | tuple[int, ...] | None = None) -> HostArray:
    """Return `x` without axes of size 1, as `numpy.squeeze`, in a new array."""
@overload
def squeeze(x: ArrayLike, axis: int | tuple[int, ...] | None = None) -> Array: ...

@overload
def stack(arrays: Sequence[HostArrayLike], axis: int = 0) -> HostArray:
    """Return arrays joined along a new axis, as `numpy.stack`."""
@overload
def stack(arrays: Sequence[ArrayLike], axis: int = 0) -> Array: ...

@overload
def std(x: HostArrayLike, axis: int | tuple[int, ...] | None = None, *, correction: float = 0.0, keepdims: bool = False) -> HostArray:
    """Return the standard deviation along axes, as `numpy.std`: the root of `var`, which has the same arguments."""
@overload
def std(x: ArrayLike, axis: int | tuple[int, ...] | None = None, *, correction: float = 0.0, keepdims: bool = False) -> Array: ...

@overload
def sub(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """a - b."""
@overload
def sub(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

def sub_grad(dy: ArrayLike, x: ArrayLike, y: ArrayLike) -> list[Any]:
    """Return the gradients of `sub` by x and y, each summed over what was broadcast in it."""

@overload
def sum(x: HostArrayLike, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike | None = None, keepdims: bool = False, *, out: HostArray | None = None) -> HostArray:
    """Return the sum of elements along axes, as `numpy.sum`."""
@overload
def sum(x: ArrayLike, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike | None = None, keepdims: bool = False, *, out: Array | None = None) -> Array: ...

@overload
def take_along_axis(x: HostArrayLike, indices: HostArrayLike, axis: int = -1, mode: IndexMode = 'raise') -> HostArray:
    """Return the elements of `x` that `indices` selects along an axis, as `numpy.take_along_axis`."""
@overload
def take_along_axis(x: ArrayLike, indices: ArrayLike, axis: int = -1, mode: IndexMode = 'raise') -> Array: ...

@overload
def tan(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function tan of x."""
@overload
def tan(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def tanh(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function tanh of x."""
@overload
def tanh(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def tensordot(x1: HostArrayLike, x2: HostArrayLike, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> HostArray:
    """Return the sums of products along pairs of axes, as `numpy.tensordot`: one product of matrices."""
@overload
def tensordot(x1: ArrayLike, x2: ArrayLike, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array: ...

@overload
def threshold(x: HostArrayLike, threshold: float, value: float, *, out: HostArray | None = None) -> HostArray:
    """`value` up to the limit, x above."""
@overload
def threshold(x: ArrayLike, threshold: float, value: float, *, out: Array | None = None) -> Array: ...

@overload
def tile(x: HostArrayLike, repetitions: Any, *, out: HostArray | None = None) -> HostArray:
    """Return `repetitions` copies of `x` side by side along each axis, as `numpy.tile`."""
@overload
def tile(x: ArrayLike, repetitions: Any, *, out: Array | None = None) -> Array: ...

def topk(x: ArrayLike, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Array, Array]:
    """Return the largest elements along an axis, and their places, as `torch.topk`; `argtopk` has the parameters."""

@overload
def transpose(x: HostArrayLike, axes: Iterable[int] | None = None, *, out: HostArray | None = None) -> HostArray:
    """Return `x` with its axes in another order, as `numpy.transpose`: as `permute`, or reversed without `axes`."""
@overload
def transpose(x: ArrayLike, axes: Iterable[int] | None = None, *, out: Array | None = None) -> Array: ...

@overload
def tree_ensemble(x: HostArrayLike, nodes: HostArrayLike, roots: HostArrayLike, num_targets: int = 1, aggregate: str = 'sum', *, out: HostArray | None = None) -> HostArray:
    """Return, for each row of x and each target, the weights of the leaves that the row reaches, joined."""
@overload
def tree_ensemble(x: ArrayLike, nodes: ArrayLike, roots: ArrayLike, num_targets: int = 1, aggregate: str = 'sum', *, out: Array | None = None) -> Array: ...

@overload
def trigamma(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """psi'(x), the derivative of digamma; +inf at the poles."""
@overload
def trigamma(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def true_divide(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Return x / y, as `numpy.divide` and Python's `/`: `div` of floating-point and complex numbers."""
@overload
def true_divide(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def trunc(x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """The function trunc of x."""
@overload
def trunc(x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def trunc_div(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Return the rounded quotient, rounded toward zero."""
@overload
def trunc_div(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def unfold(x: HostArrayLike, kernel: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, *, out: HostArray | None = None) -> HostArray:
    """Return the windows of `x`, written out."""
@overload
def unfold(x: ArrayLike, kernel: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, *, out: Array | None = None) -> Array: ...

@overload
def var(x: HostArrayLike, axis: int | tuple[int, ...] | None = None, *, correction: float = 0.0, keepdims: bool = False) -> HostArray:
    """Return the variance along axes, as `numpy.var`: the mean of squared differences from the mean."""
@overload
def var(x: ArrayLike, axis: int | tuple[int, ...] | None = None, *, correction: float = 0.0, keepdims: bool = False) -> Array: ...

@overload
def vecdot(x1: HostArrayLike, x2: HostArrayLike, *, axis: int = -1) -> HostArray:
    """Return the products of vectors along an axis, as `numpy.vecdot`: the sum of `conj(x1) * x2`."""
@overload
def vecdot(x1: ArrayLike, x2: ArrayLike, *, axis: int = -1) -> Array: ...

@overload
def where(condition: HostArrayLike, x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Return the elements of `x` where `condition` is not 0, else those of `y`, as `numpy.where`."""
@overload
def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

def zeros(shape: Any, dtype: DTypeLike | None = None, *, device: DeviceType | str | None = None, device_index: int = 0) -> Array:
    """Return a new array of zeros, as `numpy.zeros`; the arguments are those of `full`, dtype float64 by default."""

@overload
def zeros_like(x: HostArrayLike, dtype: DTypeLike | None = None) -> HostArray:
    """Return zeros with the shape of `x` and where it is, as `numpy.zeros_like`; `full_like` has the arguments."""
@overload
def zeros_like(x: ArrayLike, dtype: DTypeLike | None = None) -> Array: ...

@overload
def zeta(x: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """Return the Hurwitz zeta function, the sum of (q + n)^-x over n >= 0."""
@overload
def zeta(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def abs_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy with the sign of x; 0 where x is 0."""
@overload
def abs_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def acos_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """-dy / sqrt(1 - x^2)."""
@overload
def acos_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def acosh_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy / sqrt(x^2 - 1)."""
@overload
def acosh_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def asin_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy / sqrt(1 - x^2)."""
@overload
def asin_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def asinh_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy / sqrt(1 + x^2)."""
@overload
def asinh_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def atan_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy / (1 + x^2)."""
@overload
def atan_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def atanh_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy / (1 - x^2)."""
@overload
def atanh_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def celu_backward_with_dy_y(dy: HostArrayLike, y: HostArrayLike, alpha: float = 1.0, *, out: HostArray | None = None) -> HostArray:
    """dy above 0, dy (y / alpha + 1) up to it."""
@overload
def celu_backward_with_dy_y(dy: ArrayLike, y: ArrayLike, alpha: float = 1.0, *, out: Array | None = None) -> Array: ...

@overload
def cos_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """-dy sin x."""
@overload
def cos_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def cosh_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy sinh x, which is dy +- e^|x| / 2 where sinh x overflows."""
@overload
def cosh_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def digamma_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy psi'(x), which is dy / x^2 near 0."""
@overload
def digamma_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def elu_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, alpha: float = 1.0, *, out: HostArray | None = None) -> HostArray:
    """dy above 0, dy alpha e^x up to it."""
@overload
def elu_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, alpha: float = 1.0, *, out: Array | None = None) -> Array: ...

@overload
def erf_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy 2 / sqrt(pi) e^(-x^2)."""
@overload
def erf_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def erfc_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """-dy 2 / sqrt(pi) e^(-x^2)."""
@overload
def erfc_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def exp2_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy 2^x ln 2."""
@overload
def exp2_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def exp_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy e^x."""
@overload
def exp_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def expm1_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy e^x."""
@overload
def expm1_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def fast_gelu_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy (1/2 + t/2 + A (x/2 + 3/2 B x^3) (1 - t^2)) for t = tanh(A (x + B x^3))."""
@overload
def fast_gelu_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def gelu_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy (1 + erf(x / sqrt 2) + x sqrt(2 / pi) e^(-x^2 / 2)) / 2; 1 + erf(z) is erfc(-z), which does not cancel."""
@overload
def gelu_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def hardshrink_backward_with_dy_y(dy: HostArrayLike, y: HostArrayLike, lambd: float = 0.5, *, out: HostArray | None = None) -> HostArray:
    """0 where y is 0, else dy; the bound is not used."""
@overload
def hardshrink_backward_with_dy_y(dy: ArrayLike, y: ArrayLike, lambd: float = 0.5, *, out: Array | None = None) -> Array: ...

@overload
def hardsigmoid_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy / 6 between -3 and 3, else 0."""
@overload
def hardsigmoid_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def hardswish_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """0 up to -3, dy from 3 on, (x / 3 + 1/2) dy between."""
@overload
def hardswish_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def hardtanh_backward_with_dy_y(dy: HostArrayLike, y: HostArrayLike, min: float = -1.0, max: float = 1.0, *, out: HostArray | None = None) -> HostArray:
    """0 where y is one of the bounds, else dy."""
@overload
def hardtanh_backward_with_dy_y(dy: ArrayLike, y: ArrayLike, min: float = -1.0, max: float = 1.0, *, out: Array | None = None) -> Array: ...

@overload
def identity_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy; x is not used."""
@overload
def identity_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def leaky_relu_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, alpha: float = 0.01, *, out: HostArray | None = None) -> HostArray:
    """dy above 0, alpha dy up to it."""
@overload
def leaky_relu_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, alpha: float = 0.01, *, out: Array | None = None) -> Array: ...

@overload
def lgamma_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy psi(x), which is -dy / x near 0."""
@overload
def lgamma_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def log10_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy / (x ln 10)."""
@overload
def log10_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def log1p_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy / (1 + x)."""
@overload
def log1p_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def log2_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy / (x ln 2)."""
@overload
def log2_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def log_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy / x."""
@overload
def log_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def log_sigmoid_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy / (e^x + 1)."""
@overload
def log_sigmoid_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def mish_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy (x (1 - t^2) (1 - e^-s) + t) for s = ln(1 + e^x), t = tanh(s)."""
@overload
def mish_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def quick_gelu_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy (s + 1.702 x s (1 - s)) for s = sigmoid(1.702 x), with 1.702 x to double precision."""
@overload
def quick_gelu_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def reciprocal_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """-dy / x^2."""
@overload
def reciprocal_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def reciprocal_no_nan_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """-dy / x^2, 0 where x is 0."""
@overload
def reciprocal_no_nan_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def relu_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """0 up to 0, dy above; the same for x and for y = max(x, 0)."""
@overload
def relu_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def relu_backward_with_dy_y(dy: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """0 up to 0, dy above; the same for x and for y = max(x, 0)."""
@overload
def relu_backward_with_dy_y(dy: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def rsqrt_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """-dy / (2 sqrt(x^3))."""
@overload
def rsqrt_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def selu_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy scale above 0, dy scale alpha e^x up to it."""
@overload
def selu_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def sigmoid_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy s (1 - s) for s = sigmoid(x), which is dy e / (1 + e)^2 for e = e^-|x|."""
@overload
def sigmoid_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def sigmoid_backward_with_dy_y(dy: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy y (1 - y)."""
@overload
def sigmoid_backward_with_dy_y(dy: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def silu_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy s (1 + x (1 - s)) for s = sigmoid(x)."""
@overload
def silu_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def sin_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy cos x."""
@overload
def sin_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def sinh_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy cosh x, which is dy e^|x| / 2 where cosh x overflows."""
@overload
def sinh_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def softplus_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, beta: float = 1.0, threshold: float = 20.0, *, out: HostArray | None = None) -> HostArray:
    """dy where beta x > threshold, else dy e^(beta x) / (e^(beta x) + 1)."""
@overload
def softplus_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, beta: float = 1.0, threshold: float = 20.0, *, out: Array | None = None) -> Array: ...

@overload
def softshrink_backward_with_dy_y(dy: HostArrayLike, y: HostArrayLike, alpha: float = 0.5, *, out: HostArray | None = None) -> HostArray:
    """0 where y is 0, else dy; the bound is not used."""
@overload
def softshrink_backward_with_dy_y(dy: ArrayLike, y: ArrayLike, alpha: float = 0.5, *, out: Array | None = None) -> Array: ...

@overload
def softsign_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy / (1 + |x|)^2."""
@overload
def softsign_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def sqrt_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy / (2 sqrt x)."""
@overload
def sqrt_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def square_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """2 x dy."""
@overload
def square_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def square_relu_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """2 x dy above 0, else 0."""
@overload
def square_relu_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def tan_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy / cos^2 x."""
@overload
def tan_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def tanh_backward_with_dy_y(dy: HostArrayLike, y: HostArrayLike, *, out: HostArray | None = None) -> HostArray:
    """dy (1 - y^2), factored."""
@overload
def tanh_backward_with_dy_y(dy: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array: ...

@overload
def threshold_backward_with_dy_x(dy: HostArrayLike, x: HostArrayLike, threshold: float, *, out: HostArray | None = None) -> HostArray:
    """0 up to the threshold, dy above."""
@overload
def threshold_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, threshold: float, *, out: Array | None = None) -> Array: ...

astype = cast
bitwise_invert = bitwise_not
divide = true_divide
floor_divide = floor_div
greater = greater_than
isfinite = is_finite
isinf = is_inf
isnan = is_nan
less = less_than
multiply = mul
permute_dims = permute
positive = identity
remainder = floor_mod
subtract = sub
