"""Models with random weights beside eager: results, gradients, ten steps of training, sizes that change."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; the extra `torch` has it")

from ep.torch.compiled_graph import CompiledGraph  # noqa: E402
from tests.torch.compared import compiled  # noqa: E402
from tests.torch.models import MODELS  # noqa: E402
from tests.torch.networks import Recurrent  # noqa: E402

TOLERANCE = 2e-5
"""The largest difference of results, gradients and statistics of a call, as a part of the largest: see `far`.

Inductor of PyTorch 2.13, with eager's random numbers, on bert, gpt2, resnet18, depthwise, unet, perceptron and edits:
1.5e-5 at most.
"""
OF_LOSSES = 1e-5
"""The largest relative difference of the losses of ten steps."""
IN_BFLOAT16 = 0.02
"""The same as TOLERANCE with autocast, where eager rounds after each operator, and a compiler after each kernel.

Inductor: 0.0073 for bert and gpt2, and 0.27 for resnet18.
"""
_CALLS = 3  # the first plans, the second records, the third repeats


def far(found, expected):
    """Return the largest difference of tensors, as a part of the largest element of its tensor.

    Some gradients are 0 but for roundings, such as those of the biases of keys in an attention: no tensor counts as
    smaller than a hundredth of the largest one.
    """
    pairs = [(one.double(), other.double()) for one, other in zip(found, expected, strict=True) if other.numel()]
    largest = [float(other.abs().max()) for _, other in pairs]
    floor = max(largest, default=0) / 100 or 1
    differences = [float((one - other).abs().max()) for one, other in pairs]
    assert not any(map(np.isnan, differences)), "a result is NaN"
    return max((one / max(size, floor) for one, size in zip(differences, largest, strict=True)), default=0)


@pytest.fixture(autouse=True)
def one_thread():
    """PyTorch's sums depend on the number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch._dynamo.config.patch(allow_rnn=True):
        yield
    torch.set_num_threads(before)


def made(name, training):
    """Return a model with random weights, and the arguments of a call."""
    model = MODELS[name]
    for package in model.needs:
        pytest.importorskip(package, reason=f"{package} is not installed; the extra `bench` has it")
    torch.manual_seed(1)
    return model.make(False).train(training), model.inputs(False, torch.Generator().manual_seed(2))


def grads(module):
    return [one.grad for one in module.parameters() if one.grad is not None]


@pytest.mark.parametrize("name", MODELS)
def test_results(name):
    module, args = made(name, training=False)
    function = compiled(module)
    with torch.no_grad():
        for _ in range(_CALLS):
            before = [one.clone() for one in module.buffers()]  # a model may write to them
            expected = module(*args)
            for one, value in zip(module.buffers(), before, strict=True):
                one.copy_(value)
            result = function(*args)
            assert result.stride() == expected.stride()
            assert far([result], [expected]) <= TOLERANCE


@pytest.mark.parametrize("name", MODELS)
def test_training(name):
    """Dropout draws the same numbers, statistics and gradients are the same, and so are ten losses."""
    loss_of = MODELS[name].loss
    runs = []
    for how in ("eager", "ep"):
        module, args = made(name, training=True)
        function = compiled(module) if how == "ep" else module
        calls = []
        for _ in range(_CALLS):
            module.zero_grad()
            torch.manual_seed(3)
            result = function(*args)
            loss_of(result).backward()
            statistics = [one.clone() for one in module.buffers()]
            calls.append(([result.detach()], grads(module), statistics))
        optimizer = torch.optim.AdamW(module.parameters(), 1e-3)
        losses = []
        for step in range(10):
            optimizer.zero_grad()
            torch.manual_seed(step)
            loss = loss_of(function(*args))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        runs.append((calls, losses))
    (calls, losses), (found, found_losses) = runs
    for call, found_call in zip(calls, found, strict=True):
        for expected, result in zip(call, found_call, strict=True):
            assert far(result, expected) <= TOLERANCE
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(found_losses, losses, rtol=OF_LOSSES)


def test_a_decoder_with_sizes_that_change(monkeypatch):
    module, _ = made("llama", training=False)
    plans, plan = [], CompiledGraph.plan
    monkeypatch.setattr(CompiledGraph, "plan", lambda self, args: plans.append(1) or plan(self, args))
    function = compiled(module, dynamic=True)
    sizes = (2, 7), (3, 11), (2, 13), (3, 11), (5, 4), (2, 7)
    with torch.no_grad():
        for k, size in enumerate(sizes):
            tokens = torch.randint(0, 101, size)
            with torch._dynamo.config.patch(error_on_recompile=k > 0):
                result = function(tokens)
            assert far([result], [module(tokens)]) <= TOLERANCE
    assert len(plans) == len(set(sizes))


class Cut(torch.nn.Module):
    """A module of which torch.compile makes several graphs, with code between them."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(7, 11), torch.nn.Linear(11, 5)

    def forward(self, x):
        y = torch.tanh(self.first(x))
        torch._dynamo.graph_break()
        y = y * 2 if y.detach().sum() > 0 else y * 3
        return self.second(y)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")  # dynamo reads it, where it goes on
@pytest.mark.parametrize("name", ["a number", "lstm"])
def test_modules_that_are_cut(name):
    torch.manual_seed(4)
    module, args = (Cut(), (torch.randn(3, 7),)) if name == "a number" else (
        Recurrent(torch.nn.LSTM, 8, False), (torch.randint(0, 101, (3, 5)),)
    )  # fmt: skip
    with torch._dynamo.config.patch(allow_rnn=False):
        function = compiled(module)
        for _ in range(_CALLS):
            found = []
            for one in (module, function):
                module.zero_grad()
                result = one(*args)
                result.square().sum().backward()
                found.append([result.detach(), *grads(module)])
            assert far(found[1], found[0]) <= TOLERANCE


@pytest.mark.parametrize("name", ["bert", "gpt2", "resnet18", "vit"])
def test_autocast(name):
    module, args = made(name, training=False)
    function = compiled(module)
    for _ in range(_CALLS):
        found = []
        for one in (module, function):
            module.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                result = one(*args)
            MODELS[name].loss(result.float()).backward()
            found.append([result.detach(), *grads(module)])
        assert found[1][0].dtype == found[0][0].dtype
        assert far(found[1], found[0]) <= IN_BFLOAT16
