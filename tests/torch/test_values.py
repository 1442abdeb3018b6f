"""Values at which functions differ easily: zeros, infinities, NaN, numbers out of range."""

import math

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; the extra `torch` has it")

from tests.torch.compared import check, compiled  # noqa: E402

NAN, INF = math.nan, math.inf
F = torch.nn.functional


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


@pytest.mark.parametrize("round_each", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_bounds_and_divisors_that_are_numbers_are_not_rounded_to_16_bits(dtype, round_each):
    x = torch.arange(2**16).to(torch.int16).view(dtype)
    x = x[x.abs() < 100].requires_grad_()

    def function(x):
        quotients = [torch.div(x, 0.3, rounding_mode=mode) for mode in ("floor", "trunc")]
        return F.softshrink(x, 0.3), F.hardshrink(x, 0.3), F.threshold(x, 0.3, 0.7), *quotients

    results, wanted = compiled(function, round_each=round_each)(x), [*function(x)]
    wanted[0] = F.softshrink(x.float(), 0.3).to(dtype)  # PyTorch 2.15 rounds this bound
    assert all(map(torch.equal, results, wanted))
    dy = torch.linspace(-2, 3, x.numel()).to(dtype)
    for pair in zip(results[:3], wanted[:3], strict=True):
        assert torch.equal(*(torch.autograd.grad(one, x, dy, retain_graph=True)[0] for one in pair))


@pytest.mark.parametrize("name", ["addmm", "addbmm", "baddbmm"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_factors_of_products_are_not_rounded_to_16_bits(dtype, name):
    axes = 2 if name == "addmm" else 3
    made = compiled(lambda x, y, z: getattr(torch, name)(x, y, z, beta=0.7, alpha=0.3))
    x, y, z = (torch.full([1] * rank, number, dtype=dtype) for rank, number in ((2, 0), (axes, 1000), (axes, 1)))
    assert made(x, y, z).item() == 300  # 0.3 is 0.29980 in float16, and 0.30078 in bfloat16
    assert made(y[-1:].reshape(1, 1), x.reshape([1] * axes), z).item() == 700


def test_powers_of_integers():
    check(lambda x: (x**0, x**3), torch.arange(-3, 4))
    check(lambda x: (x**True, x**False, x**2, 2**x), torch.tensor([True, False]))
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


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8, torch.uint8])
def test_integers_are_rounded_and_have_signs(dtype):
    x = torch.tensor([0, 1, 2, 127, 255, -1, -128]).to(dtype)
    check(lambda x: (x.floor(), x.ceil(), x.trunc(), x.round(), x.sign(), (x + 1).floor() * 2), x, strict=True)
