"""Recurrent modules in inference, where PyTorch has one operator for a layer: ep computes all of it."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; the extra `torch` has it")

from tests.torch.compared import check, check_same, compiled  # noqa: E402


@pytest.fixture(autouse=True)
def recurrent_modules_are_in_graphs():
    with torch._dynamo.config.patch(allow_rnn=True), torch.no_grad():
        yield


@pytest.mark.filterwarnings("ignore:LSTM with projections:UserWarning")
@pytest.mark.parametrize(
    ("options", "shape"),
    [
        ({}, (5, 3, 7)),
        ({"bias": False}, (5, 3, 7)),
        ({"bidirectional": True, "batch_first": True}, (3, 5, 7)),
        ({"num_layers": 2, "bidirectional": True}, (1, 3, 7)),
        ({}, (19, 3, 7)),
        ({}, (5, 7)),
        ({"proj_size": 2}, (5, 3, 7)),
    ],
    ids=str,
)
def test_lstm(options, shape):
    torch.manual_seed(1)
    module = torch.nn.LSTM(7, 11, **options)
    check(module, torch.randn(shape), strict=True)


@pytest.mark.parametrize("num_steps", [1, 4])
def test_lstm_with_states_in_bfloat16(num_steps):
    torch.manual_seed(2)
    module = torch.nn.LSTM(7, 11, bidirectional=True).bfloat16()
    x, h, c = (torch.randn(shape).bfloat16() for shape in ((num_steps, 3, 7), (2, 3, 11), (2, 3, 11)))
    found, wanted = compiled(module, strict=True)(x, (h, c)), module.float()(x.float(), (h.float(), c.float()))
    for one, other in zip([found[0], *found[1]], [wanted[0], *wanted[1]], strict=True):
        assert one.dtype == torch.bfloat16
        torch.testing.assert_close(one.float(), other, rtol=2**-6, atol=2**-6)


def test_lstm_follows_its_parameters_and_sizes():
    torch.manual_seed(3)
    module = torch.nn.LSTM(7, 11)
    function = compiled(module, dynamic=True, strict=True)
    for num_steps, rows in ((4, 3), (2, 5), (6, 1), (4, 3)):
        x = torch.randn(num_steps, rows, 7)
        for _ in range(3):
            check_same(function(x), module(x))
            for one in module.parameters():
                one.mul_(-1)


def test_a_layer_of_another_kind_is_left_to_pytorch():
    """PyTorch's GRU has the number 3."""

    def layer(x, w, r, b, h, mode):
        return torch.ops.aten.mkldnn_rnn_layer(x, w, r, b, b, h, h, False, [], mode, 2, 1, True, False, False, False)[0]

    given = [torch.randn(shape) for shape in ((3, 2, 5), (8, 5), (8, 2), (8,), (1, 2, 2))]
    check_same(compiled(layer)(*given, 2), layer(*given, 2))
    with pytest.raises(Exception, match="one direction of one layer of an LSTM"):
        compiled(layer, strict=True)(*given, 3)
