"""The types of `ep.ops`. Written by tools/ops_stub.py."""

from collections.abc import Iterable, Sequence
from typing import Any

from ep.include.arrays import Array as Array
from ep.include.arrays import ArrayLike
from ep.include.data_type import DTypeLike
from ep.include.device_type import DeviceType
from ep.ops.devices import copy_to_device as copy_to_device
from ep.ops.devices import copy_to_host as copy_to_host
from ep.ops.full import full as full
from ep.ops.gradients.vjp import vjp as vjp

def abs(x: ArrayLike, *, out: Array | None = None) -> Array:
    """|x|; the most negative integer stays as it is."""

def acos(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function acos of x."""

def acosh(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function acosh of x."""

def add(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """a + b."""

def add_grad(dy: ArrayLike, x: ArrayLike, y: ArrayLike) -> list[Any]:
    """Return the gradients of `add` by x and y, each summed over what was broadcast in it."""

def all(x: ArrayLike, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, *, out: Array | None = None) -> Array:
    """Return whether all elements along axes are true (not 0), as `numpy.all`; True if there are none."""

def any(x: ArrayLike, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, *, out: Array | None = None) -> Array:
    """Return whether any element along axes is true (not 0), as `numpy.any`; False if there are none."""

def arange(start: float, stop: float | None = None, step: float = 1, *, dtype: DTypeLike | None = None, device: DeviceType | str | None = None, device_index: int = 0) -> Array:
    """Return the numbers from `start` to `stop`, which is not included, in steps, as `numpy.arange`."""

def asin(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function asin of x."""

def asinh(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function asinh of x."""

def atan(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function atan of x."""

def atanh(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function atanh of x."""

def average_pool(x: ArrayLike, kernel: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, ceil_mode: bool = False, count_include_pad: bool = False, *, out: Array | None = None) -> Array:
    """Return the mean of each window of `x`, as ONNX's AveragePool and PyTorch's `avg_pool1d` to `avg_pool3d`."""

def batch_gather(params: ArrayLike, indices: ArrayLike, mode: str = 'raise', *, out: Array | None = None) -> Array:
    """Return, for each batch, the elements of `params` that `indices` of the batch selects: OneFlow's BatchGather."""

def batch_gather_grad(dy: ArrayLike, indices: ArrayLike, shape: Any, mode: str = 'raise', *, out: Array | None = None) -> Array:
    """Return the gradient of `batch_gather` with respect to params; the arguments are those of `gather_grad`."""

def bitwise_and(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """a & b."""

def bitwise_not(x: ArrayLike, *, out: Array | None = None) -> Array:
    """Return x with every bit inverted."""

def bitwise_or(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """a | b."""

def bitwise_xor(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """a ^ b."""

def broadcast_to(x: ArrayLike, shape: Any) -> Array:
    """Return `x` repeated to a shape, as `numpy.broadcast_to`, in a new array: `expand`, in which -1 keeps a size."""

def cast(x: ArrayLike, dtype: DTypeLike, *, out: Array | None = None) -> Array:
    """Return `x` in another data type, as `numpy.astype`."""

def ceil(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function ceil of x."""

def celu(x: ArrayLike, alpha: float = 1.0, *, out: Array | None = None) -> Array:
    """alpha (e^(x / alpha) - 1) up to 0, x above."""

def clip(x: ArrayLike, min: ArrayLike | None = None, max: ArrayLike | None = None, *, out: Any = None) -> Array:
    """Return `minimum(maximum(x, min), max)`, as `numpy.clip`; None is no bound."""

def concat(arrays: Sequence[ArrayLike], axis: int | None = 0) -> Array:
    """Return arrays joined along an axis, as `numpy.concat`."""

def conj(x: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the complex conjugate: the imaginary part is negated."""

def conv(x: ArrayLike, w: ArrayLike, bias: ArrayLike | None = None, strides: Any = 1, pads: Any = 0, dilations: Any = 1, groups: int = 1, *, out: Array | None = None) -> Array:
    """Return the convolution of `x` with `w`, as ONNX's Conv and PyTorch's `conv1d` to `conv3d`."""

def conv_w_grad(dy: ArrayLike, x: ArrayLike, shape: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, groups: int = 1, *, out: Array | None = None) -> Array:
    """Return the gradient of `conv` with respect to w: the sums of x times `dy` over all windows, by place in a window."""

def conv_x_grad(dy: ArrayLike, w: ArrayLike, shape: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, groups: int = 1, *, out: Array | None = None) -> Array:
    """Return the gradient of `conv` with respect to x: the sums of `dy` times w over all windows with an element."""

def cos(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function cos of x."""

def cosh(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function cosh of x."""

def digamma(x: ArrayLike, *, out: Array | None = None) -> Array:
    """psi(x) = d/dx ln gamma(x); -inf at +0, +inf at -0, NaN at the other poles."""

def div(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """a / b."""

def div_grad(dy: ArrayLike, x: ArrayLike, y: ArrayLike) -> list[Any]:
    """Return the gradients of `div` by x and y, each summed over what was broadcast in it."""

def elu(x: ArrayLike, alpha: float = 1.0, *, out: Array | None = None) -> Array:
    """alpha (e^x - 1) up to 0, x above."""

def equal(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """a = b."""

def erf(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function erf of x."""

def erfc(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function erfc of x."""

def exp(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function exp of x."""

def exp2(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function exp2 of x."""

def expand(x: ArrayLike, *sizes: Any, out: Array | None = None) -> Array:
    """Return `x` repeated to `sizes`."""

def expand_dims(x: ArrayLike, axis: int | tuple[int, ...] = 0) -> Array:
    """Return `x` with new axes of size 1, as `numpy.expand_dims`, in a new array."""

def expand_grad(dy: ArrayLike, shape: Any, *, out: Array | None = None) -> Array:
    """Return the gradient of `expand`: the sum of `dy` over the axes that were new or were expanded."""

def expm1(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function expm1 of x."""

def eye(n_rows: int, n_cols: int | None = None, *, k: int = 0, dtype: DTypeLike | None = None, device: DeviceType | str | None = None, device_index: int = 0) -> Array:
    """Return a matrix with ones on a diagonal and zeros elsewhere, as `numpy.eye`."""

def fast_gelu(x: ArrayLike, *, out: Array | None = None) -> Array:
    """x / 2 (1 + tanh(A (x + B x^3))), as x sigmoid(2 A (x + B x^3))."""

def flip(x: ArrayLike, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return the elements of `x` in the reverse order along axes, as `numpy.flip`."""

def floor(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function floor of x."""

def floor_div(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the rounded quotient, rounded down; it differs from Python's: see docs/semantics.md."""

def floor_mod(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the remainder of the floored quotient, with the sign of b; for a floating 0 see docs/semantics.md."""

def fmod(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the remainder of the truncated quotient: it has the sign of a."""

def fold(x: ArrayLike, sizes: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, *, out: Array | None = None) -> Array:
    """Return the sums of windows at their places: each element is the sum over all windows that contain it."""

def full_like(x: ArrayLike, fill_value: complex, dtype: DTypeLike | None = None) -> Array:
    """Return a new array of one number, with the shape of `x` and where it is, as `numpy.full_like`."""

def gather(params: ArrayLike, indices: ArrayLike, axis: int | None = None, batch_dims: int = 0, mode: str = 'raise', *, out: Array | None = None) -> Array:
    """Return the elements of `params` that `indices` selects along `axis`, as `tensorflow.gather`."""

def gather_grad(dy: ArrayLike, indices: ArrayLike, shape: Any, axis: int | None = None, batch_dims: int = 0, mode: str = 'raise', *, out: Array | None = None) -> Array:
    """Return the gradient of `gather` with respect to params: for each row, the sum of `dy` over its copies."""

def gelu(x: ArrayLike, *, out: Array | None = None) -> Array:
    """x / 2 (1 + erf(x / sqrt 2)), as x / 2 erfc(-x / sqrt 2), which does not cancel on the left."""

def greater_equal(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """a >= b."""

def greater_than(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """a > b."""

def hard_shrink(x: ArrayLike, lambd: float = 0.5, *, out: Array | None = None) -> Array:
    """0 where -bound <= x <= bound, x elsewhere."""

def hard_sigmoid(x: ArrayLike, *, out: Array | None = None) -> Array:
    """x / 6 + 1/2 clamped to 0 ... 1, as (x + 3) / 6, which does not cancel near -3."""

def hard_swish(x: ArrayLike, *, out: Array | None = None) -> Array:
    """0 up to -3, x from 3 on, x (x + 3) / 6 between."""

def hard_tanh(x: ArrayLike, min: float = -1.0, max: float = 1.0, *, out: Array | None = None) -> Array:
    """x clamped to low ... high; low is tested first."""

def hypot(x: ArrayLike, y: ArrayLike) -> Array:
    """Return `sqrt(x * x + y * y)`, as `numpy.hypot`: without overflow, and infinity if one operand is infinite."""

def identity(x: ArrayLike, *, out: Array | None = None) -> Array:
    """x; a result of another type is converted when it is stored."""

def imag(x: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the imaginary part."""

def imag_grad(x: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the complex number 0 + dy i."""

def is_close(x: ArrayLike, y: ArrayLike, *, atol: float = 1e-08, rtol: float = 1e-05, out: Array | None = None) -> Array:
    """|a - b| <= atol + rtol |b| for a finite b, or a = b, as `numpy.isclose` has it."""

def is_close_equal_nan(x: ArrayLike, y: ArrayLike, *, atol: float = 1e-08, rtol: float = 1e-05, out: Array | None = None) -> Array:
    """As kIsClose, and NaN is close to NaN."""

def is_finite(x: ArrayLike, *, out: Array | None = None) -> Array:
    """Return whether x is neither +-inf nor a NaN."""

def is_inf(x: ArrayLike, *, out: Array | None = None) -> Array:
    """Return whether x is +-inf."""

def is_nan(x: ArrayLike, *, out: Array | None = None) -> Array:
    """Return whether x is a NaN."""

def isclose(x: ArrayLike, y: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False, *, out: Any = None) -> Array:
    """Return whether `|x - y| <= atol + rtol * |y|`, as `numpy.isclose`: `is_close`, or `is_close_equal_nan`."""

def leaky_relu(x: ArrayLike, alpha: float = 0.01, *, out: Array | None = None) -> Array:
    """alpha x up to 0, x above."""

def less_equal(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """a <= b."""

def less_than(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """a < b."""

def lgamma(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function lgamma of x."""

def linspace(start: complex, stop: complex, num: int, *, dtype: DTypeLike | None = None, endpoint: bool = True, device: DeviceType | str | None = None, device_index: int = 0) -> Array:
    """Return `num` numbers in equal distances from `start` to `stop`, as `numpy.linspace`."""

def log(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function log of x."""

def log10(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function log10 of x."""

def log1p(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function log1p of x."""

def log2(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function log2 of x."""

def log_sigmoid(x: ArrayLike, *, out: Array | None = None) -> Array:
    """-ln(1 + e^-x)."""

def log_softmax(x: ArrayLike, axis: int = -1, *, out: Array | None = None) -> Array:
    """Return the logarithm of `softmax`, as `scipy.special.log_softmax`; it is accurate even if `softmax` rounds to 0."""

def log_softmax_grad(*, dy: ArrayLike, y: ArrayLike, axis: int = -1, out: Array | None = None) -> Array:
    """Return the gradient of `log_softmax`: `dy - exp(y) * sum(dy)`, the sum along the axis."""

def logaddexp(x: ArrayLike, y: ArrayLike) -> Array:
    """Return `log(exp(x) + exp(y))`, as `numpy.logaddexp`, without overflow."""

def logical_and(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """Whether both are true; NaN is true."""

def logical_not(x: ArrayLike, *, out: Array | None = None) -> Array:
    """x == 0: true for -0, false for a NaN."""

def logical_or(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """Whether at least one of them is true."""

def logical_xor(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """Whether exactly one of them is true."""

def matmul(x1: ArrayLike, x2: ArrayLike, transpose_x1: bool = False, transpose_x2: bool = False, *, out: Array | None = None) -> Array:
    """Return the product of matrices, as `numpy.matmul`."""

def matmul_grad(dy: ArrayLike, x1: ArrayLike, x2: ArrayLike, transpose_x1: bool = False, transpose_x2: bool = False) -> list[Array]:
    """Return the gradients of `matmul` with respect to x1 and x2: products of dy with the other operand."""

def matrix_transpose(x: ArrayLike) -> Array:
    """Return `x` with its last two axes exchanged, as `numpy.matrix_transpose`; ValueError if it has fewer."""

def max(x: ArrayLike, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, *, out: Array | None = None) -> Array:
    """Return the largest element along axes, as `numpy.max`; NaN if one of them is NaN. `maximum` is for two arrays."""

def max_pool(x: ArrayLike, kernel: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, ceil_mode: bool = False, *, out: Array | None = None) -> Array:
    """Return the largest element of each window of `x`, as ONNX's MaxPool and PyTorch's `max_pool1d` to `max_pool3d`."""

def maximum(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the larger one, b where they are equal; NaN if either is."""

def maximum_grad(dy: ArrayLike, x: ArrayLike, y: ArrayLike) -> list[Any]:
    """Return the gradients of `maximum` by x and y, each summed over what was broadcast in it."""

def mean(x: ArrayLike, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike | None = None, keepdims: bool = False, *, out: Array | None = None) -> Array:
    """Return the mean of elements along axes, as `numpy.mean`; NaN if there are none."""

def min(x: ArrayLike, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, *, out: Array | None = None) -> Array:
    """Return the least element along axes, as `numpy.min`; NaN if one of them is NaN. `minimum` is for two arrays."""

def minimum(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the smaller one, b where they are equal; NaN if either is."""

def minimum_grad(dy: ArrayLike, x: ArrayLike, y: ArrayLike) -> list[Any]:
    """Return the gradients of `minimum` by x and y, each summed over what was broadcast in it."""

def mish(x: ArrayLike, *, out: Array | None = None) -> Array:
    """x tanh(ln(1 + e^x)), where tanh(ln(1 + u)) = u (u + 2) / (u (u + 2) + 2) for u = e^x."""

def moveaxis(x: ArrayLike, source: int | tuple[int, ...], destination: int | tuple[int, ...]) -> Array:
    """Return `x` with some axes in other positions, as `numpy.moveaxis`; the others keep their order."""

def mul(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """a b."""

def mul_grad(dy: ArrayLike, x: ArrayLike, y: ArrayLike) -> list[Any]:
    """Return the gradients of `mul` by x and y, each summed over what was broadcast in it."""

def nan_assign(x: ArrayLike, *, out: Array | None = None) -> Array:
    """0 for a NaN, else x."""

def negative(x: ArrayLike, *, out: Array | None = None) -> Array:
    """-x."""

def not_equal(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """a != b, true with NaN."""

def not_equal_zero(x: ArrayLike, *, out: Array | None = None) -> Array:
    """1 where x != 0 (so for a NaN), else 0."""

def one_hot(indices: ArrayLike, num_classes: int, on_value: complex = 1, off_value: complex = 0, dtype: DTypeLike | None = None, *, out: Array | None = None) -> Array:
    """Return a row for each index: `on_value` at the place of the index, and `off_value` elsewhere."""

def ones(shape: Any, dtype: DTypeLike | None = None, *, device: DeviceType | str | None = None, device_index: int = 0) -> Array:
    """Return a new array of ones, as `numpy.ones`; the arguments are those of `full`, dtype float64 by default."""

def ones_like(x: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Return ones with the shape of `x` and where it is, as `numpy.ones_like`; `full_like` has the arguments."""

def pad(x: ArrayLike, pad_width: Any, *, constant_values: complex = 0, out: Array | None = None) -> Array:
    """Return `x` with elements of one value around it, as `numpy.pad` with its mode "constant"."""

def permute(x: ArrayLike, axes: Iterable[int], *, out: Array | None = None) -> Array:
    """Return `x` with its axes in the order `axes`, as `numpy.permute_dims`: axis i of the result is axis axes[i] of x."""

def pow(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """a^b by C's rules: 1 for b = 0 and for a = 1, even if the other one is NaN."""

def pow_grad(dy: ArrayLike, x: ArrayLike, y: ArrayLike) -> list[Any]:
    """Return the gradients of `pow` by x and y, each summed over what was broadcast in it."""

def prod(x: ArrayLike, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike | None = None, keepdims: bool = False, *, out: Array | None = None) -> Array:
    """Return the product of elements along axes, as `numpy.prod`; its parameters are those of `sum`."""

def quick_gelu(x: ArrayLike, *, out: Array | None = None) -> Array:
    """x sigmoid(1.702 x), where e^-(p + r) is e^-p (1 - r)."""

def real(x: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the real part."""

def real_grad(x: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the complex number dy + 0i."""

def reciprocal(x: ArrayLike, *, out: Array | None = None) -> Array:
    """1 / x."""

def reciprocal_no_nan(x: ArrayLike, *, out: Array | None = None) -> Array:
    """1 / x, 0 where x is 0."""

def relu(x: ArrayLike, *, out: Array | None = None) -> Array:
    """Zero up to 0 (-0 becomes +0), x above; x itself if the type has no negative numbers."""

def repeat(x: ArrayLike, *sizes: Any, out: Array | None = None) -> Array:
    """Return `sizes` copies of `x` side by side along each axis, as `numpy.tile`; `numpy.repeat` is another function."""

def repeat_grad(dy: ArrayLike, shape: Any, sizes: Any, *, out: Array | None = None) -> Array:
    """Return the gradient of `repeat`: the sum of `dy` over the copies."""

def reshape(x: ArrayLike, shape: Any) -> Array:
    """Return the elements of `x` in another shape, as `numpy.reshape`, in a new array."""

def rint(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function rint of x."""

def roll(x: ArrayLike, shift: int | tuple[int, ...], axis: int | tuple[int, ...] | None = None) -> Array:
    """Return the elements of `x` moved along axes, as `numpy.roll`: those moved beyond the end begin again."""

def round(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function round of x."""

def rsqrt(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function rsqrt of x."""

def scalar_base_power_grad(x: ArrayLike, dy: ArrayLike, exponent: float, *, out: Array | None = None) -> Array:
    """c x^(c - 1) dy for the exponent c."""

def scalar_exp_power_grad(x: ArrayLike, dy: ArrayLike, base: float, *, out: Array | None = None) -> Array:
    """c^x ln(c) dy for the base c."""

def segment_sum(data: ArrayLike, segment_ids: ArrayLike, num_segments: int, axis: int = 0, *, out: Array | None = None) -> Array:
    """Return the sums of the parts of `data` along an axis that have the same id, as `jax.ops.segment_sum`."""

def selu(x: ArrayLike, *, out: Array | None = None) -> Array:
    """scale alpha (e^x - 1) up to 0, scale x above."""

def sigmoid(x: ArrayLike, *, out: Array | None = None) -> Array:
    """1 / (1 + e^-x)."""

def sign(x: ArrayLike, *, out: Array | None = None) -> Array:
    """1, 0 or -1; 0 for a NaN."""

def silu(x: ArrayLike, *, out: Array | None = None) -> Array:
    """x sigmoid(x)."""

def sin(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function sin of x."""

def sinh(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function sinh of x."""

def slice(x: ArrayLike, *slices: Any, out: Array | None = None) -> Array:
    """Return a box of `x`, as `x[slices]` of NumPy, for slices with positive steps; it is a copy, not a view."""

def slice_grad(dy: ArrayLike, shape: Any, *slices: Any, out: Array | None = None) -> Array:
    """Return the gradient of `slice`: `dy` at the elements of x that the slices selected, and zeros elsewhere."""

def soft_plus(x: ArrayLike, beta: float = 1.0, threshold: float = 20.0, *, out: Array | None = None) -> Array:
    """x where beta x > threshold, else ln(1 + e^(beta x)) / beta."""

def soft_shrink(x: ArrayLike, alpha: float = 0.5, *, out: Array | None = None) -> Array:
    """0 where -alpha <= x <= alpha, x - alpha above, x + alpha below."""

def soft_sign(x: ArrayLike, *, out: Array | None = None) -> Array:
    """x / (1 + |x|); +-1 at +-inf."""

def softmax(x: ArrayLike, axis: int = -1, *, out: Array | None = None) -> Array:
    """Return `exp(x)` divided by its sum along an axis, as `scipy.special.softmax`, without overflow."""

def softmax_grad(*, dy: ArrayLike, y: ArrayLike, axis: int = -1, out: Array | None = None) -> Array:
    """Return the gradient of `softmax`: `(dy - sum(y * dy)) * y`, the sum along the axis."""

def split(x: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Return the parts of `x` along an axis, as `numpy.split`; they are copies, not views."""

def sqrt(x: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the principal root, with C99's special values."""

def square(x: ArrayLike, *, out: Array | None = None) -> Array:
    """x^2."""

def square_relu(x: ArrayLike, *, out: Array | None = None) -> Array:
    """Zero up to 0, x^2 above."""

def squeeze(x: ArrayLike, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return `x` without axes of size 1, as `numpy.squeeze`, in a new array."""

def stack(arrays: Sequence[ArrayLike], axis: int = 0) -> Array:
    """Return arrays joined along a new axis, as `numpy.stack`."""

def std(x: ArrayLike, axis: int | tuple[int, ...] | None = None, *, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Return the standard deviation along axes, as `numpy.std`: the root of `var`, which has the same arguments."""

def sub(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """a - b."""

def sub_grad(dy: ArrayLike, x: ArrayLike, y: ArrayLike) -> list[Any]:
    """Return the gradients of `sub` by x and y, each summed over what was broadcast in it."""

def sum(x: ArrayLike, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike | None = None, keepdims: bool = False, *, out: Array | None = None) -> Array:
    """Return the sum of elements along axes, as `numpy.sum`."""

def tan(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function tan of x."""

def tanh(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function tanh of x."""

def tensordot(x1: ArrayLike, x2: ArrayLike, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """Return the sums of products along pairs of axes, as `numpy.tensordot`: one product of matrices."""

def threshold(x: ArrayLike, threshold: float, value: float, *, out: Array | None = None) -> Array:
    """`value` up to the limit, x above."""

def tile(x: ArrayLike, repetitions: Any, *, out: Array | None = None) -> Array:
    """Return `repetitions` copies of `x` side by side along each axis, as `numpy.tile`."""

def transpose(x: ArrayLike, axes: Iterable[int] | None = None, *, out: Array | None = None) -> Array:
    """Return `x` with its axes in another order, as `numpy.transpose`: as `permute`, or reversed without `axes`."""

def trigamma(x: ArrayLike, *, out: Array | None = None) -> Array:
    """psi'(x), the derivative of digamma; +inf at the poles."""

def true_divide(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """Return x / y, as Python's operator `/` on arrays: `div` of floating-point and complex numbers."""

def trunc(x: ArrayLike, *, out: Array | None = None) -> Array:
    """The function trunc of x."""

def trunc_div(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the rounded quotient, rounded toward zero."""

def unfold(x: ArrayLike, kernel: Any, strides: Any = 1, pads: Any = 0, dilations: Any = 1, *, out: Array | None = None) -> Array:
    """Return the windows of `x`, written out."""

def var(x: ArrayLike, axis: int | tuple[int, ...] | None = None, *, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Return the variance along axes, as `numpy.var`: the mean of squared differences from the mean."""

def vecdot(x1: ArrayLike, x2: ArrayLike, *, axis: int = -1) -> Array:
    """Return the products of vectors along an axis, as `numpy.vecdot`: the sum of `conj(x1) * x2`."""

def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the elements of `x` where `condition` is not 0, else those of `y`, as `numpy.where`."""

def zeros(shape: Any, dtype: DTypeLike | None = None, *, device: DeviceType | str | None = None, device_index: int = 0) -> Array:
    """Return a new array of zeros, as `numpy.zeros`; the arguments are those of `full`, dtype float64 by default."""

def zeros_like(x: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Return zeros with the shape of `x` and where it is, as `numpy.zeros_like`; `full_like` has the arguments."""

def zeta(x: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """Return the Hurwitz zeta function, the sum of (q + n)^-x over n >= 0."""

def abs_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy with the sign of x; 0 where x is 0."""

def acos_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """-dy / sqrt(1 - x^2)."""

def acosh_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy / sqrt(x^2 - 1)."""

def asin_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy / sqrt(1 - x^2)."""

def asinh_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy / sqrt(1 + x^2)."""

def atan_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy / (1 + x^2)."""

def atanh_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy / (1 - x^2)."""

def celu_backward_with_dy_y(dy: ArrayLike, y: ArrayLike, alpha: float = 1.0, *, out: Array | None = None) -> Array:
    """dy above 0, dy (y / alpha + 1) up to it."""

def cos_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """-dy sin x."""

def cosh_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy sinh x, which is dy +- e^|x| / 2 where sinh x overflows."""

def digamma_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy psi'(x), which is dy / x^2 near 0."""

def elu_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, alpha: float = 1.0, *, out: Array | None = None) -> Array:
    """dy above 0, dy alpha e^x up to it."""

def erf_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy 2 / sqrt(pi) e^(-x^2)."""

def erfc_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """-dy 2 / sqrt(pi) e^(-x^2)."""

def exp2_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy 2^x ln 2."""

def exp_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy e^x."""

def expm1_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy e^x."""

def fast_gelu_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy (1/2 + t/2 + A (x/2 + 3/2 B x^3) (1 - t^2)) for t = tanh(A (x + B x^3))."""

def gelu_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy (1 + erf(x / sqrt 2) + x sqrt(2 / pi) e^(-x^2 / 2)) / 2; 1 + erf(z) is erfc(-z), which does not cancel."""

def hardshrink_backward_with_dy_y(dy: ArrayLike, y: ArrayLike, lambd: float = 0.5, *, out: Array | None = None) -> Array:
    """0 where y is 0, else dy; the bound is not used."""

def hardsigmoid_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy / 6 between -3 and 3, else 0."""

def hardswish_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """0 up to -3, dy from 3 on, (x / 3 + 1/2) dy between."""

def hardtanh_backward_with_dy_y(dy: ArrayLike, y: ArrayLike, min: float = -1.0, max: float = 1.0, *, out: Array | None = None) -> Array:
    """0 where y is one of the bounds, else dy."""

def identity_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy; x is not used."""

def leaky_relu_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, alpha: float = 0.01, *, out: Array | None = None) -> Array:
    """dy above 0, alpha dy up to it."""

def lgamma_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy psi(x), which is -dy / x near 0."""

def log10_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy / (x ln 10)."""

def log1p_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy / (1 + x)."""

def log2_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy / (x ln 2)."""

def log_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy / x."""

def log_sigmoid_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy / (e^x + 1)."""

def mish_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy (x (1 - t^2) (1 - e^-s) + t) for s = ln(1 + e^x), t = tanh(s)."""

def quick_gelu_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy (s + 1.702 x s (1 - s)) for s = sigmoid(1.702 x), with 1.702 x to double precision."""

def reciprocal_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """-dy / x^2."""

def reciprocal_no_nan_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """-dy / x^2, 0 where x is 0."""

def relu_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """0 up to 0, dy above; the same for x and for y = max(x, 0)."""

def relu_backward_with_dy_y(dy: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """0 up to 0, dy above; the same for x and for y = max(x, 0)."""

def rsqrt_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """-dy / (2 sqrt(x^3))."""

def selu_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy scale above 0, dy scale alpha e^x up to it."""

def sigmoid_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy s (1 - s) for s = sigmoid(x), which is dy e / (1 + e)^2 for e = e^-|x|."""

def sigmoid_backward_with_dy_y(dy: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """dy y (1 - y)."""

def silu_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy s (1 + x (1 - s)) for s = sigmoid(x)."""

def sin_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy cos x."""

def sinh_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy cosh x, which is dy e^|x| / 2 where cosh x overflows."""

def softplus_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, beta: float = 1.0, threshold: float = 20.0, *, out: Array | None = None) -> Array:
    """dy where beta x > threshold, else dy e^(beta x) / (e^(beta x) + 1)."""

def softshrink_backward_with_dy_y(dy: ArrayLike, y: ArrayLike, alpha: float = 0.5, *, out: Array | None = None) -> Array:
    """0 where y is 0, else dy; the bound is not used."""

def softsign_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy / (1 + |x|)^2."""

def sqrt_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy / (2 sqrt x)."""

def square_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """2 x dy."""

def square_relu_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """2 x dy above 0, else 0."""

def tan_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, *, out: Array | None = None) -> Array:
    """dy / cos^2 x."""

def tanh_backward_with_dy_y(dy: ArrayLike, y: ArrayLike, *, out: Array | None = None) -> Array:
    """dy (1 - y^2), factored."""

def threshold_backward_with_dy_x(dy: ArrayLike, x: ArrayLike, threshold: float, *, out: Array | None = None) -> Array:
    """0 up to the threshold, dy above."""

astype = cast
bitwise_invert = bitwise_not
divide = div
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
