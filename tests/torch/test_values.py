"""Values at which functions differ easily: zeros, infinities, NaN, numbers out of range."""

import math

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; the extra `torch` has it")

from tests.torch.compared import check  # noqa: E402

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
