"""Values at which functions differ easily: zeros, infinities, NaN, numbers out of range."""

import math

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; the extra `torch` has it")

from tests.torch.compared import check, compiled  # noqa: E402

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_quotients_rounded_down_are_pythons(dtype):
    x = torch.tensor([1, -1, 7, -7, 0, INF, -INF, NAN, 3, -3, 5.5, 0.3, 0.9], dtype=dtype)[:, None]
    y = torch.tensor([0.1, -0.1, 2, -2, 0, INF, -INF, NAN, 3.3, 0.3], dtype=dtype)
    check(lambda x, y: (torch.div(x, y, rounding_mode="floor"), x // y, x // 3, 7 // y), x, y)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_numbers_out_of_range_wrap(dtype):
    x = torch.tensor([300, -1, -300, 40000, -40000, 1e9, -0.5, 255.7, 128], dtype=dtype)
    check(lambda x: [x.to(one) for one in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)], x)


@pytest.mark.parametrize("round_each", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_numbers_in_products_and_quotients_are_not_rounded_to_16_bits(dtype, round_each):
    x = torch.tensor([0.1, 0, -0.5, 2, 3.3], dtype=dtype, requires_grad=True)

    def function(x):
        return x * 1e5, x / 1e-8, (x * 1e-4) * 1e5, x * torch.tensor(1e5), 1e5 / x, x * 1.1

    check(function, x, round_each=round_each)


def test_powers_of_integers():
    check(lambda x: (x**0, x**3), torch.arange(-3, 4))
    with pytest.raises(RuntimeError, match="Integers to negative integer powers"):
        compiled(lambda x: x**-1)(torch.arange(3))


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("ends", [(4.7, 1.9), (0, 241), (1.5, 200.25)])
def test_linspace(dtype, ends):
    def function(x, start, end):
        pairs = [ends, (start, end), (start, ends[1]), (ends[0], end)]
        return [x + torch.linspace(*pair, steps, dtype=dtype) for pair in pairs for steps in (0, 1, 2, 7, 50)]

    check(function, torch.ones(()), *map(torch.tensor, ends))


def test_linspace_of_large_integers():
    check(lambda x: x + torch.linspace(-(10**12) - 7, 10**12 + 2, 1001, dtype=torch.int64), torch.tensor(1))
