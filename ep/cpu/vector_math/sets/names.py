"""The functions by name: their arithmetic, their forms, and the bounds of their errors."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from ep.cpu.vector_math.lookup import has_register_tables


def named(name: str) -> Any:
    """Return an object of a module of this package, such as "single.exponential.exp".

    A kernel needs few of the modules, so each is imported when it is asked for.
    """
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(f"ep.cpu.vector_math.{module}"), attribute)


class Forms:
    """One function."""

    def __init__(
        self,
        ulps: float,
        computed: str,
        tabled: str | None = None,
        ordinary: str | None = None,
        tabled_ordinary: str | None = None,
    ) -> None:
        """ulps: the largest error that its tests allow, in any form.

        The others are the names of the forms, for `named`.
        """
        self.ulps = ulps
        self.names: Final = {
            "computed": computed,
            "tabled": tabled,
            "ordinary": ordinary,
            "tabled_ordinary": tabled_ordinary,
        }

    def _form(self, which: str) -> Any:
        name = self.names[which]
        return None if name is None else named(name)

    @property
    def computed(self) -> Any:
        """The form for any processor."""
        return self._form("computed")

    @property
    def tabled(self) -> Any:
        """The form for processors with register tables, if it differs."""
        return self._form("tabled")

    @property
    def ordinary(self) -> Any:
        """The form only for ordinary elements, with the bits of `computed`, if it differs (`kernels/ordinary.py`)."""
        return self._form("ordinary")

    @property
    def tabled_ordinary(self) -> Any:
        """The same, with the bits of `tabled`."""
        return self._form("tabled_ordinary")

    def of_this_processor(self) -> tuple[Any, Any]:
        """Return the form that kernels for this processor use, and that for ordinary elements, or None."""
        tabled = self.names["tabled"] is not None and has_register_tables()
        return (self.tabled, self.tabled_ordinary) if tabled else (self.computed, self.ordinary)


FLOAT64: Final[Mapping[str, Forms]] = {
    "exp": Forms(0.9, "exponential.exp", "tabled.exponential.exp"),
    "exp2": Forms(0.95, "exponential.exp2", "tabled.exponential.exp2"),
    "expm1": Forms(0.72, "exponential.expm1", "tabled.exponential.expm1"),
    "log": Forms(0.84, "logarithm.log", "tabled.logarithm.log"),
    "log2": Forms(0.97, "logarithm.log2", "tabled.logarithm.log2"),
    "log10": Forms(0.91, "logarithm.log10", "tabled.logarithm.log10"),
    "log1p": Forms(0.84, "logarithm.log1p", "tabled.logarithm.log1p"),
    "pow": Forms(1.4, "power.pow", ordinary="power.pow_of_positive"),
    "sinh": Forms(1.35, "hyperbolic.sinh"),
    "cosh": Forms(1.8, "hyperbolic.cosh"),
    "tanh": Forms(0.58, "hyperbolic.tanh"),
    "asinh": Forms(0.85, "hyperbolic.asinh", "tabled.hyperbolic.asinh"),
    "acosh": Forms(0.85, "hyperbolic.acosh", "tabled.hyperbolic.acosh"),
    "atanh": Forms(0.9, "hyperbolic.atanh", "tabled.hyperbolic.atanh"),
    "sigmoid": Forms(0.8, "sigmoid.sigmoid", "tabled.sigmoid.sigmoid"),
    "softplus": Forms(1.6, "sigmoid.softplus", "tabled.sigmoid.softplus"),
    "logsigmoid": Forms(1.6, "sigmoid.logsigmoid", "tabled.sigmoid.logsigmoid"),
    "soft_plus": Forms(2, "sigmoid.soft_plus"),
    "silu": Forms(2, "activation.silu", "tabled.activation.silu"),
    "quick_gelu": Forms(2, "activation.quick_gelu", "tabled.activation.quick_gelu"),
    "fast_gelu": Forms(2, "activation.fast_gelu"),
    "mish": Forms(2, "activation.mish"),
    "gelu": Forms(1.42, "error_function.gelu"),
    "erf": Forms(0.95, "error_function.erf"),
    "erfc": Forms(1.85, "error_function.erfc"),
    "sin": Forms(0.92, "trigonometric.sin"),
    "cos": Forms(0.92, "trigonometric.cos"),
    "tan": Forms(0.76, "trigonometric.tan"),
    "asin": Forms(1.12, "inverse_trigonometric.asin"),
    "acos": Forms(1.1, "inverse_trigonometric.acos"),
    "atan": Forms(1.76, "inverse_trigonometric.atan"),
    "rsqrt": Forms(0.51, "root.rsqrt", ordinary="root.rsqrt_of_normal"),
    "lgamma": Forms(4.5, "gamma.lgamma", ordinary="gamma.lgamma_of_positive"),
    "digamma": Forms(4.7, "polygamma.digamma", ordinary="polygamma.digamma_of_positive"),
    "trigamma": Forms(7.8, "polygamma.trigamma", ordinary="polygamma.trigamma_of_positive"),
}
"""The functions from float64 to float64; sin, cos and tan up to the limit of `trigonometric`."""


def _gradient(name: str) -> Forms:
    """Return the forms of the gradient of a gated activation: two operands, dy and x."""
    place = f"single.gate_slopes.{name}"
    return Forms(8, f"{place}_formula", place, tabled_ordinary=f"{place}_of_ordinary")


FLOAT32: Final[Mapping[str, Forms]] = {
    "exp": Forms(0.9, "single.exponential.exp"),
    "exp2": Forms(0.95, "single.exponential.exp2", ordinary="single.exponential.exp2_of_ordinary"),
    "expm1": Forms(0.98, "single.exponential.expm1"),
    "log": Forms(0.93, "single.logarithm.log", ordinary="single.logarithm.log_of_normal"),
    "log2": Forms(0.99, "single.logarithm.log2", ordinary="single.logarithm.log2_of_normal"),
    "log10": Forms(0.93, "single.logarithm.log10", ordinary="single.logarithm.log10_of_normal"),
    "log1p": Forms(0.92, "single.logarithm.log1p"),
    "pow": Forms(1.5, "single.power.pow", ordinary="single.power.pow_of_ordinary"),
    "sinh": Forms(0.95, "single.hyperbolic.sinh"),
    "cosh": Forms(1.4, "single.hyperbolic.cosh"),
    "tanh": Forms(0.94, "single.hyperbolic.tanh", "single.odd_pieces.tanh"),
    "asinh": Forms(
        1.04,
        "single.inverse_hyperbolic.asinh",
        "single.odd_pieces.asinh",
        tabled_ordinary="single.odd_pieces.asinh_of_ordinary",
    ),
    "acosh": Forms(1.11, "single.inverse_hyperbolic.acosh"),
    "atanh": Forms(1.25, "single.inverse_hyperbolic.atanh"),
    "sigmoid": Forms(0.92, "single.sigmoid.sigmoid"),
    "logsigmoid": Forms(
        1.85,
        "single.softplus.logsigmoid",
        "single.gate_pieces.logsigmoid",
        tabled_ordinary="single.gate_pieces.logsigmoid_of_ordinary",
    ),
    "soft_plus": Forms(2, "single.softplus.soft_plus"),
    "silu": Forms(1.65, "single.activation.silu"),
    "quick_gelu": Forms(1.72, "single.activation.quick_gelu"),
    "fast_gelu": Forms(
        1.67,
        "single.activation.fast_gelu",
        "single.gate_pieces.fast_gelu",
        tabled_ordinary="single.gate_pieces.fast_gelu_of_ordinary",
    ),
    "mish": Forms(
        1.5,
        "single.activation.mish",
        "single.gate_pieces.mish",
        tabled_ordinary="single.gate_pieces.mish_of_ordinary",
    ),
    "gelu": Forms(
        1.89,
        "single.error_function.gelu",
        "single.gate_pieces.gelu",
        tabled_ordinary="single.gate_pieces.gelu_of_ordinary",
    ),
    "erf": Forms(0.93, "single.error_function.erf", "single.odd_pieces.erf"),
    "erfc": Forms(
        1.75,
        "single.error_function.erfc",
        "single.erfc_pieces.erfc",
        tabled_ordinary="single.erfc_pieces.erfc_of_ordinary",
    ),
    "sin": Forms(0.89, "single.trigonometric.sin"),
    "cos": Forms(0.89, "single.trigonometric.cos"),
    "tan": Forms(1.0, "single.trigonometric.tan"),
    "asin": Forms(1.17, "single.inverse_trigonometric.asin"),
    "acos": Forms(1.14, "single.inverse_trigonometric.acos"),
    "atan": Forms(1.37, "single.inverse_trigonometric.atan"),
    "rsqrt": Forms(0.51, "single.root.rsqrt", "single.root.rsqrt_by_instruction", "single.root.rsqrt_of_normal"),
    "softplus_backward": Forms(8, "single.gate_slopes.softplus"),
    **{f"{name}_backward": _gradient(name) for name in ("gelu", "fast_gelu", "quick_gelu", "silu", "mish")},
}
"""The functions from float32 to float32; sin, cos and tan up to the limit of `single.trigonometric`."""

LIMITED: Final = frozenset(("sin", "cos", "tan"))
"""The functions that are only accurate up to a limit."""


class OfThisProcessor(dict[str, Any]):
    """The functions of FLOAT64 or FLOAT32 that kernels for this processor use, by name: those asked for so far."""

    def __init__(self, forms: Mapping[str, Forms]) -> None:
        super().__init__()
        self._forms = forms

    def __missing__(self, name: str) -> Any:
        self[name] = function = self._forms[name].of_this_processor()[0]
        return function
