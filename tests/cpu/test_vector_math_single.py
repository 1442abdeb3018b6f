"""exp, the hyperbolic functions, sigmoid and the activations in float32, against float64 over the whole domain."""

from typing import Any

import numpy as np
import pytest

from ep.testing.ulps import errors_in_ulps
from tests.cpu.single_functions import apply, both_forms, bound, loop, nan_of_any_payload


def _sigmoid(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1.0 + e)


def _gated(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.where(x == -np.inf, -0.0, x * _sigmoid(z))


def _fast_gelu(x: np.ndarray) -> np.ndarray:
    return _gated(x, 2 * 0.7978845608028654 * x * (1 + 0.044714998453855515 * x * x))


def _mish(x: np.ndarray) -> np.ndarray:
    """Return x tanh(ln(1 + e^x)), computed as x n / (n + 2) for n = e^x (e^x + 2)."""
    e = np.exp(np.minimum(x, 40.0))
    n = e * (e + 2.0)
    return np.where(x == -np.inf, -0.0, x * (n / (n + 2.0)))


def _log_sigmoid(x: np.ndarray) -> np.ndarray:
    return -(np.maximum(-x, 0.0) + np.log1p(np.exp(-np.abs(x))))


REFERENCES: dict[str, Any] = both_forms(
    {
        "exp": np.exp,
        "exp2": np.exp2,
        "expm1": np.expm1,
        "sinh": np.sinh,
        "cosh": np.cosh,
        "tanh": np.tanh,
        "sigmoid": _sigmoid,
        "logsigmoid": _log_sigmoid,
        "silu": lambda x: _gated(x, x),
        "quick_gelu": lambda x: _gated(x, 1.702 * x),
        "fast_gelu": _fast_gelu,
        "mish": _mish,
    }
)


def _errors(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    return errors_in_ulps(got, want.astype(np.longdouble), signed_zeros=True)


@pytest.mark.parametrize("name", REFERENCES)
def test_every_exponent_and_sign(name: str) -> None:
    reference = REFERENCES[name]
    x = np.arange(0, 2**32, 4093, np.uint64).astype(np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        errors = _errors(apply(name, x), reference(x.astype(np.float64)))
    worst = int(np.argmax(errors))
    assert errors[worst] <= bound(name), x[worst]


@pytest.mark.parametrize("name", REFERENCES)
def test_where_the_result_is_neither_0_nor_1(name: str) -> None:
    reference = REFERENCES[name]
    rng = np.random.default_rng(7)
    parts = [rng.uniform(-1, 1, 300_000), rng.uniform(-20, 20, 300_000), rng.uniform(-152, 130, 300_000)]
    x = np.concatenate(parts).astype(np.float32)
    with np.errstate(all="ignore"):
        errors = _errors(apply(name, x), reference(x.astype(np.float64)))
    worst = int(np.argmax(errors))
    assert errors[worst] <= bound(name), x[worst]


@pytest.mark.parametrize("name", REFERENCES)
def test_special_values(name: str) -> None:
    largest, tiny, subnormal = np.finfo(np.float32).max, np.finfo(np.float32).tiny, np.float32(1e-45)
    x = np.array(
        [0, np.inf, largest, tiny, subnormal, 88.72283, 88.722839, 89.415985, 89.415993, 103.97, 103.98, 128, 149, 150],
        np.float32,
    )
    x = np.concatenate([x, -x])
    with np.errstate(all="ignore"):
        want = REFERENCES[name](x.astype(np.float64))
    assert (_errors(apply(name, x), want) <= bound(name)).all()


@pytest.mark.parametrize("name", REFERENCES)
def test_nan_whatever_its_payload(name: str) -> None:
    assert np.isnan(apply(name, nan_of_any_payload())).all()


@pytest.mark.parametrize("name", REFERENCES)
def test_loops_are_packed_and_single(name: str) -> None:
    (code,) = loop(name).inspect_llvm().values()
    assert "x float> @llvm.fma.v" in code
    assert "double" not in code.partition("define")[2].partition("\n}\n")[0]
