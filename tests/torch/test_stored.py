"""Plans on disk: a process repeats the launches of an earlier one, and plans nothing."""

import subprocess
import sys
import uuid

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; the extra `torch` has it")

import ep.torch  # noqa: E402
from ep.cpu.device_manager import CACHE  # noqa: E402
from ep.include import additions  # noqa: E402
from ep.torch import section  # noqa: E402
from tests.torch.compared import check_same, compiled  # noqa: E402


def normal(*shape, **kwargs):
    return torch.randn(*shape, **kwargs)


@pytest.fixture(autouse=True)
def without_additions(monkeypatch):
    """Let no kernel of another test count."""
    monkeypatch.setattr(additions, "_ADDED", set())


@pytest.fixture
def planned(monkeypatch):
    """The list of the sections that have been planned."""
    found, make = [], section.NamedProgram
    monkeypatch.setattr(section, "NamedProgram", lambda *args, **named: found.append(args) or make(*args, **named))
    return found


@pytest.fixture
def unique():
    """A number that no earlier run of the tests has had: a graph with it has no plan on disk."""
    return 1 + uuid.uuid4().int % 2**30 / 2**30


def bits(results):
    return [one.detach().numpy().tobytes() for one in results]


def test_a_process_with_one_call_keeps_the_plan_for_the_next_one(planned, unique):
    def function(x, w):
        y = torch.tanh(x @ w) * unique
        return y, y.t(), (y * x.sum()).expand(2, 3, 5)

    x, w = normal(3, 7), normal(7, 5)
    first = compiled(function)(x, w)
    assert len(planned) == 1
    made = compiled(function)
    for _ in range(3):
        again = made(x, w)
        check_same(again, function(x, w))
        assert bits(again) == bits(first)
    assert len(planned) == 1
    others = normal(3, 7).t().contiguous().t(), normal(7, 5)
    check_same(compiled(function)(*others), function(*others))  # other strides
    assert len(planned) == 2


def test_gradients_and_parameters(planned, unique):
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(7, 11), torch.nn.GELU(), torch.nn.Linear(11, 5))
    x, found = normal(3, 7), []
    for _ in range(3):
        made = compiled(lambda x: net(x) * unique)
        for _ in range(3):
            found.append(torch.autograd.grad(made(x).square().sum(), [*net.parameters()]))
            check_same(found[-1], torch.autograd.grad((net(x) * unique).square().sum(), [*net.parameters()]))
    assert len(planned) == 2
    assert {*map(str, map(bits, found))} == {str(bits(found[0]))}
    with torch.no_grad():
        net[0].weight.mul_(2)
    net[2].weight = torch.nn.Parameter(normal(5, 11))
    check_same(made(x), net(x) * unique)


@torch._dynamo.config.patch(specialize_float=True)  # else `unique` is an input of the graph, and no part of its digest
def test_sizes_have_plans_of_their_own(planned, unique):
    def function(x):
        return torch.softmax(x * unique, 0), x.mean(1)

    sizes = (3, 5, 7)
    for expected in (3, 3):
        made = compiled(function, dynamic=True)
        for size in sizes:
            for _ in range(2):  # the second call of a later size is recorded
                x = normal(size, size + 2)
                check_same(made(x), function(x))
        assert len(planned) == expected


def test_a_number_that_changes_is_not_the_one_of_another_plan(planned, unique):
    def function(x, k):
        return x * k * unique

    x = normal(3, 5)
    for _ in range(2):
        made = compiled(function, dynamic=True)
        for k in (2, 5, 0.5, 1.25):
            check_same(made(x, k), function(x, k))


@pytest.mark.parametrize("options", [{}, {"round_each": True}])
def test_options_and_types_are_parts_of_a_plan(planned, unique, options):
    def function(x):
        return torch.exp(torch.tanh(x) * unique) - 1

    for dtype in (torch.float32, torch.float16):
        x = normal(3, 5).to(dtype)
        check_same(compiled(function)(x), function(x))
    assert len(planned) == 2
    check_same(compiled(function, **options)(x), function(x))
    assert len(planned) == 2 + len(options)


def test_results_of_an_operator_that_are_not_read(planned, unique):
    x = normal(1, 2, 8, 8)

    def first(x):
        return torch.nn.functional.max_pool2d(x * unique, 2, return_indices=True)[0]

    def both(x):
        return torch.nn.functional.max_pool2d(x * unique, 2, return_indices=True)

    for function in (first, both, first, both):
        check_same(compiled(function)(x), function(x))
    assert len(planned) == 2


class TestIndices:
    """Launches check them, also those that other launches compute."""

    def test_computed_ones(self, planned, unique):
        def function(table, i):
            return torch.nn.functional.embedding(i + torch.arange(4) - 1, table) * unique

        self.check(planned, function)

    def test_negative_ones(self, planned, unique):
        table, i = normal(11, 3), torch.tensor([-1, 3, -11, 5])
        for _ in range(2):
            made = compiled(lambda table, i: table[i - 0] * unique)
            for _ in range(3):
                check_same(made(table, i), table[i] * unique)

    def check(self, planned, function):
        table, i = normal(11, 3), torch.tensor([1, 7, 2, 5])
        for _ in range(2):
            made = compiled(function)
            check_same(made(table, i), function(table, i))
        assert len(planned) == 1
        with pytest.raises(IndexError):
            made(table, torch.tensor([1, 7, 2, 12]))
        for _ in range(3):
            check_same(made(table, i), function(table, i))


def test_steps_of_pytorch_and_strict(planned, unique):
    def function(x):
        y = torch.linalg.inv(torch.tanh(x) + 4 * torch.eye(5))
        return torch.relu(y @ x) * unique, torch.nn.functional.dropout(y, 0.5)

    x = normal(5, 5)
    for k in range(2):
        made = compiled(function)
        for _ in range(2):
            torch.manual_seed(k)
            expected = function(x)
            torch.manual_seed(k)
            check_same(made(x), expected)
    count = len(planned)
    with pytest.raises(NotImplementedError, match="strict is set"):
        compiled(function, strict=True)(x)
    assert "PyTorch computes aten.linalg_inv_ex.default" in (text := ep.torch.explain(function, x))
    assert "kernel" in text
    assert len(planned) > count  # it describes a new plan


def test_a_damaged_file_is_replaced(planned, unique, monkeypatch):
    def function(x):
        return torch.exp(x) * unique

    x, digests, origin = normal(3, 5), [], section.Origin
    monkeypatch.setattr(section, "Origin", lambda digest: digests.append(digest) or origin(digest))
    check_same(compiled(function)(x), function(x))
    (file,) = CACHE.folder().glob(f"launches.{digests[-1]}-*.plan")
    *others, last = file.read_bytes()
    file.write_bytes(bytes([*others, last ^ 1]))
    for expected in (2, 2):
        check_same(compiled(function)(x), function(x))
        assert len(planned) == expected


def test_a_process_with_other_kernels_makes_its_own_plans(planned, unique, monkeypatch):
    def function(x):
        return torch.exp(x) * unique

    x = normal(3, 5)
    made = compiled(function)
    made(x)
    again = compiled(function)
    again(x)
    monkeypatch.setattr(additions, "_ADDED", {None})
    check_same(again(x), function(x))
    check_same(compiled(function)(x), function(x))
    assert len(planned) == 3


def test_another_process(tmp_path, unique):
    code = f"""
import torch, ep.torch
from ep.torch import section
torch.manual_seed(1)
planned, make = [], section.NamedProgram
section.NamedProgram = lambda *args, **named: planned.append(args) or make(*args, **named)
net = torch.nn.Linear(7, 5)
made = torch.compile(lambda x: torch.tanh(net(x)) * {unique!r}, backend="ep", dynamic=True)
x = torch.randn(3, 7)
for _ in range(3):  # the backward graph needs more memory, and the forward graph is recorded in it
    net.zero_grad()
    y = made(x)
    y.sum().backward()
print(len(planned), y.tolist(), net.weight.grad.tolist())
"""
    ran = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(2)]
    first, again = (one.stdout.partition(" ") for one in ran)
    assert (first[0], again[0]) == ("2", "0")
    assert first[2] == again[2]
