"""Shapes that PyTorch allows, and that the functions of `ep.ops` do not take: all of them are in ep."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; the extra `torch` has it")

from tests.torch.compared import check, check_same, compiled  # noqa: E402

NUMBER = torch.tensor(0.3, requires_grad=True)
IMAGE = torch.randn(3, 13, 11, generator=torch.Generator().manual_seed(1), requires_grad=True)
F = torch.nn.functional


@pytest.mark.parametrize("function", [
    lambda x: (x.sum(0), x.mean(-1, keepdim=True), x.amax(()), x.prod(0), x.var(0, correction=0)),
    lambda x: (x.softmax(0), x.log_softmax(-1), x.cumsum(0), x.cumprod(-1)),
    lambda x: (*x.max(0), *x.sort(0), *x.topk(1, 0), x.argmin(0)),
    lambda x: (x.gather(0, torch.tensor(0)), x.index_select(0, torch.tensor([0])), x.flip(0), x.unfold(0, 1, 1)),
    lambda x: (x.scatter(0, torch.tensor(0), 2.0), x.scatter_add(-1, torch.tensor(0), x * 2), torch.stack([x, x], -1)),
    lambda x: torch.zeros(3).select_scatter(x, 0, 1),
], ids=lambda one: "-".join(one.__code__.co_names))  # fmt: skip
def test_axes_of_a_number(function):
    check(function, NUMBER, strict=True)


@pytest.mark.parametrize("function", [
    lambda x: F.conv2d(x, torch.ones(2, 3, 3, 5), torch.ones(2), stride=2, padding=1),
    lambda x: F.conv_transpose2d(x, torch.ones(3, 2, 3, 5), torch.ones(2), stride=2, padding=1),
    lambda x: F.conv1d(x[0], torch.ones(2, 13, 3)),
    lambda x: F.max_pool2d(x, 3, 2, 1),
    lambda x: F.avg_pool2d(x, (3, 2), padding=1, count_include_pad=False),
    lambda x: F.adaptive_avg_pool2d(x, (4, 3)),
    lambda x: F.avg_pool3d(x[None], 2),
], ids=lambda one: one.__code__.co_names[1])  # fmt: skip
def test_one_sample_without_an_axis(function):
    check(function, IMAGE, strict=True)


@pytest.mark.parametrize("function", [
    lambda x: (x.diagonal(0, 0, 1) * 2, x.diagonal(2, 2, 1).exp(), x.diagonal(-1, 0, 2).sum()),
    lambda x: torch.diagonal_scatter(x, x.new_ones(13, 2), 1, -1, 0),
    lambda x: torch.diagonal_scatter(x * 2, x.diagonal(-12, 1, 2), -12, 1, 2),
    lambda x: (x.select_scatter(x[:, 0], 1, -1), x.select_scatter(x[0], 0, 1)),
    lambda x: (x.slice_scatter(x[:, :4], 1, 2, 6), x.slice_scatter(x[:, :4] + 1, 1, 0, 12, 3), x.slice_scatter(x, 0)),
    lambda x: (x * 2).slice_scatter(x[:, :0], 1, 5, 5),
], ids=["diagonal", "across", "corner", "select", "slice", "nothing"])  # fmt: skip
def test_parts_of_an_array_and_arrays_with_other_parts(function):
    check(function, IMAGE, strict=True)


def test_a_group_norm_with_a_bias_and_no_weight():
    """Eager's gradient is an error, but for a weight of ones."""
    x, bias = torch.randn(2, 6, 5, requires_grad=True), torch.randn(6, requires_grad=True)
    made, found = compiled(lambda x, bias: F.group_norm(x, 3, None, bias), strict=True), []
    for y in (made(x, bias), F.group_norm(x, 3, torch.ones(6), bias)):
        found.append((y, torch.autograd.grad(y.sin().sum(), [x, bias])))
    check_same(*found)


@pytest.mark.parametrize("function", [F.hardshrink, F.softshrink, lambda x: F.threshold(x, 0.3, 0.7)])
def test_gradients_of_ranges_for_sizes_that_vary(function):
    check(function, IMAGE, strict=True, dynamic=True)


@pytest.mark.parametrize("padding", [(2, 3), (0, 5), (1, 1), 2])
def test_transposed_convolutions_with_more_output_than_windows(padding):
    def function(x, w, b):
        return torch.nn.functional.conv_transpose2d(x, w, b, (1, 2), 1, padding, dilation=(3, 6))

    x, w, b = (torch.randn(shape).requires_grad_() for shape in ((2, 3, 5, 4), (3, 2, 2, 3), (2,)))
    check(function, x, w, b, strict=True)
