"""The functions by name: their arithmetic, their forms, and the bounds of their errors."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ep.cpu.vector_math import (
    activation,
    error_function,
    exponential,
    gamma,
    hyperbolic,
    inverse_trigonometric,
    logarithm,
    polygamma,
    power,
    root,
    sigmoid,
    trigonometric,
)
from ep.cpu.vector_math.lookup import has_register_tables
from ep.cpu.vector_math.single import activation as single_activation
from ep.cpu.vector_math.single import erfc_pieces, gate_pieces, inverse_hyperbolic, odd_pieces, softplus
from ep.cpu.vector_math.single import error_function as single_error_function
from ep.cpu.vector_math.single import exponential as single_exponential
from ep.cpu.vector_math.single import hyperbolic as single_hyperbolic
from ep.cpu.vector_math.single import inverse_trigonometric as single_inverse_trigonometric
from ep.cpu.vector_math.single import logarithm as single_logarithm
from ep.cpu.vector_math.single import power as single_power
from ep.cpu.vector_math.single import root as single_root
from ep.cpu.vector_math.single import sigmoid as single_sigmoid
from ep.cpu.vector_math.single import trigonometric as single_trigonometric
from ep.cpu.vector_math.tabled import activation as tabled_activation
from ep.cpu.vector_math.tabled import exponential as tabled_exponential
from ep.cpu.vector_math.tabled import hyperbolic as tabled_hyperbolic
from ep.cpu.vector_math.tabled import logarithm as tabled_logarithm
from ep.cpu.vector_math.tabled import sigmoid as tabled_sigmoid


class Forms(NamedTuple):
    """One function.

    ulps: the largest error that its tests allow, in any form.
    test: the file in tests/cpu.
    computed: the form for any processor.
    tabled: the form for processors with register tables, if it differs.
    ordinary: the form only for ordinary elements, with the bits of `computed`, if it differs (`kernels/ordinary.py`).
    tabled_ordinary: the same, with the bits of `tabled`.
    """

    ulps: float
    test: str
    computed: Any
    tabled: Any = None
    ordinary: Any = None
    tabled_ordinary: Any = None

    def of_this_processor(self) -> tuple[Any, Any]:
        """Return the form that kernels for this processor use, and that for ordinary elements, or None."""
        tabled = self.tabled is not None and has_register_tables()
        return (self.tabled, self.tabled_ordinary) if tabled else (self.computed, self.ordinary)


_EXP_LOG, _TRIG_ERF = "test_vector_math_exp_log.py", "test_vector_math_trig_erf.py"
_GAMMA, _ACTIVATION = "test_vector_math_gamma.py", "test_accuracy.py"

FLOAT64: Final[Mapping[str, Forms]] = {
    "exp": Forms(0.9, _EXP_LOG, exponential.exp, tabled_exponential.exp),
    "exp2": Forms(0.95, _EXP_LOG, exponential.exp2, tabled_exponential.exp2),
    "expm1": Forms(0.72, _EXP_LOG, exponential.expm1, tabled_exponential.expm1),
    "log": Forms(0.84, _EXP_LOG, logarithm.log, tabled_logarithm.log),
    "log2": Forms(0.97, _EXP_LOG, logarithm.log2, tabled_logarithm.log2),
    "log10": Forms(0.91, _EXP_LOG, logarithm.log10, tabled_logarithm.log10),
    "log1p": Forms(0.84, _EXP_LOG, logarithm.log1p, tabled_logarithm.log1p),
    "pow": Forms(1.4, _EXP_LOG, power.pow, ordinary=power.pow_of_positive),
    "sinh": Forms(1.35, _EXP_LOG, hyperbolic.sinh),
    "cosh": Forms(1.8, _EXP_LOG, hyperbolic.cosh),
    "tanh": Forms(0.58, _EXP_LOG, hyperbolic.tanh),
    "asinh": Forms(0.85, _EXP_LOG, hyperbolic.asinh, tabled_hyperbolic.asinh),
    "acosh": Forms(0.85, _EXP_LOG, hyperbolic.acosh, tabled_hyperbolic.acosh),
    "atanh": Forms(0.9, _EXP_LOG, hyperbolic.atanh, tabled_hyperbolic.atanh),
    "sigmoid": Forms(0.8, _EXP_LOG, sigmoid.sigmoid, tabled_sigmoid.sigmoid),
    "softplus": Forms(1.6, _EXP_LOG, sigmoid.softplus, tabled_sigmoid.softplus),
    "logsigmoid": Forms(1.6, _EXP_LOG, sigmoid.logsigmoid, tabled_sigmoid.logsigmoid),
    "soft_plus": Forms(2, _ACTIVATION, sigmoid.soft_plus),
    "silu": Forms(2, _ACTIVATION, activation.silu, tabled_activation.silu),
    "quick_gelu": Forms(2, _ACTIVATION, activation.quick_gelu, tabled_activation.quick_gelu),
    "fast_gelu": Forms(2, _ACTIVATION, activation.fast_gelu),
    "mish": Forms(2, _ACTIVATION, activation.mish),
    "gelu": Forms(1.42, _TRIG_ERF, error_function.gelu),
    "erf": Forms(0.95, _TRIG_ERF, error_function.erf),
    "erfc": Forms(1.7, _TRIG_ERF, error_function.erfc),
    "sin": Forms(0.92, _TRIG_ERF, trigonometric.sin),
    "cos": Forms(0.92, _TRIG_ERF, trigonometric.cos),
    "tan": Forms(0.76, _TRIG_ERF, trigonometric.tan),
    "asin": Forms(1.12, _TRIG_ERF, inverse_trigonometric.asin),
    "acos": Forms(1.1, _TRIG_ERF, inverse_trigonometric.acos),
    "atan": Forms(1.76, _TRIG_ERF, inverse_trigonometric.atan),
    "rsqrt": Forms(0.51, "test_vector_math_root.py", root.rsqrt, ordinary=root.rsqrt_of_normal),
    "lgamma": Forms(4.5, _GAMMA, gamma.lgamma, ordinary=gamma.lgamma_of_positive),
    "digamma": Forms(4.7, _GAMMA, polygamma.digamma, ordinary=polygamma.digamma_of_positive),
    "trigamma": Forms(7.8, _GAMMA, polygamma.trigamma, ordinary=polygamma.trigamma_of_positive),
}
"""The functions from float64 to float64; sin, cos and tan up to the limit of `trigonometric`."""

_SINGLE, _SINGLE_ERF_LOG = "test_vector_math_single.py", "test_vector_math_single_erf_log.py"
_SINGLE_TRIG, _SINGLE_INVERSE = "test_vector_math_single_trig.py", "test_vector_math_single_inverse.py"

FLOAT32: Final[Mapping[str, Forms]] = {
    "exp": Forms(0.9, _SINGLE, single_exponential.exp),
    "exp2": Forms(0.95, _SINGLE, single_exponential.exp2, ordinary=single_exponential.exp2_of_ordinary),
    "expm1": Forms(0.98, _SINGLE, single_exponential.expm1),
    "log": Forms(0.93, _SINGLE_ERF_LOG, single_logarithm.log, ordinary=single_logarithm.log_of_normal),
    "log2": Forms(0.99, _SINGLE_ERF_LOG, single_logarithm.log2, ordinary=single_logarithm.log2_of_normal),
    "log10": Forms(0.93, _SINGLE_ERF_LOG, single_logarithm.log10, ordinary=single_logarithm.log10_of_normal),
    "log1p": Forms(0.92, _SINGLE_ERF_LOG, single_logarithm.log1p),
    "pow": Forms(1.5, "test_vector_math_single_power.py", single_power.pow, ordinary=single_power.pow_of_ordinary),
    "sinh": Forms(0.95, _SINGLE, single_hyperbolic.sinh),
    "cosh": Forms(1.4, _SINGLE, single_hyperbolic.cosh),
    "tanh": Forms(0.94, _SINGLE, single_hyperbolic.tanh, odd_pieces.tanh),
    "asinh": Forms(
        1.04, _SINGLE_INVERSE, inverse_hyperbolic.asinh, odd_pieces.asinh, tabled_ordinary=odd_pieces.asinh_of_ordinary
    ),
    "acosh": Forms(1.11, _SINGLE_INVERSE, inverse_hyperbolic.acosh),
    "atanh": Forms(1.25, _SINGLE_INVERSE, inverse_hyperbolic.atanh),
    "sigmoid": Forms(0.92, _SINGLE, single_sigmoid.sigmoid),
    "logsigmoid": Forms(
        1.85, _SINGLE, softplus.logsigmoid, gate_pieces.logsigmoid, tabled_ordinary=gate_pieces.logsigmoid_of_ordinary
    ),
    "soft_plus": Forms(2, _ACTIVATION, softplus.soft_plus),
    "silu": Forms(1.65, _SINGLE, single_activation.silu),
    "quick_gelu": Forms(1.72, _SINGLE, single_activation.quick_gelu),
    "fast_gelu": Forms(
        1.67,
        _SINGLE,
        single_activation.fast_gelu,
        gate_pieces.fast_gelu,
        tabled_ordinary=gate_pieces.fast_gelu_of_ordinary,
    ),
    "mish": Forms(1.5, _SINGLE, single_activation.mish, gate_pieces.mish, tabled_ordinary=gate_pieces.mish_of_ordinary),
    "gelu": Forms(
        1.89,
        _SINGLE_ERF_LOG,
        single_error_function.gelu,
        gate_pieces.gelu,
        tabled_ordinary=gate_pieces.gelu_of_ordinary,
    ),
    "erf": Forms(0.93, _SINGLE_ERF_LOG, single_error_function.erf, odd_pieces.erf),
    "erfc": Forms(
        1.75,
        _SINGLE_ERF_LOG,
        single_error_function.erfc,
        erfc_pieces.erfc,
        tabled_ordinary=erfc_pieces.erfc_of_ordinary,
    ),
    "sin": Forms(0.89, _SINGLE_TRIG, single_trigonometric.sin),
    "cos": Forms(0.89, _SINGLE_TRIG, single_trigonometric.cos),
    "tan": Forms(1.0, _SINGLE_TRIG, single_trigonometric.tan),
    "asin": Forms(1.17, _SINGLE_INVERSE, single_inverse_trigonometric.asin),
    "acos": Forms(1.14, _SINGLE_INVERSE, single_inverse_trigonometric.acos),
    "atan": Forms(1.37, _SINGLE_INVERSE, single_inverse_trigonometric.atan),
    "rsqrt": Forms(
        0.51, _SINGLE_INVERSE, single_root.rsqrt, single_root.rsqrt_by_instruction, single_root.rsqrt_of_normal
    ),
}
"""The functions from float32 to float32; sin, cos and tan up to the limit of `single.trigonometric`."""

LIMITED: Final = frozenset(("sin", "cos", "tan"))
"""The functions that are only accurate up to a limit."""


def of_this_processor(names: Mapping[str, Forms]) -> dict[str, Any]:
    """Return the functions of FLOAT64 or FLOAT32 that kernels for this processor use."""
    return {name: forms.of_this_processor()[0] for name, forms in names.items()}
