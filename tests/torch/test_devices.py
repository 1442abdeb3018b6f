"""Models on a device: training, layouts, parameters that are copied once and followed, what a device lacks."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; the extra `torch` has it")

import ep.torch  # noqa: E402
from ep.common.arrays.on_device import arrays_on  # noqa: E402
from tests.beside import TANH  # noqa: E402
from tests.subprocesses import SOURCES, run  # noqa: E402
from tests.torch.compared import check, check_same, compiled  # noqa: E402
from tests.torch.networks import Net  # noqa: E402


@pytest.fixture
def options(device):
    """Return the options of a model on the device, of which PyTorch computes nothing."""
    return {"device": device.type.tag, "strict": True}


@pytest.fixture
def copied(device, monkeypatch):
    """Return the list of the shapes that are copied to the device, from now on."""
    shapes, kind = [], type(arrays_on(device.type))
    copy = kind.copy_from_host

    def noting(self, array):
        shapes.append(array.shape)
        return copy(self, array)

    monkeypatch.setattr(kind, "copy_from_host", noting)
    return shapes


def test_training(options):
    found = []
    for given in (None, options):
        net = Net()
        made = net if given is None else compiled(net, **given)
        step, x, y = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9), torch.randn(13, 7), torch.randn(13, 5)
        losses = []
        for _ in range(4):
            step.zero_grad()
            loss = ((made(x) - y) ** 2).mean()
            loss.backward()
            step.step()
            losses.append(loss.detach())
        found.append((losses, [*net.parameters()]))
    check_same(*found)


def test_parameters_are_copied_once_and_followed(device, options, copied):
    net, x = Net().requires_grad_(False), torch.randn(3, 7)
    made = compiled(net, **options)
    weights = {tuple(one.shape) for one in net.parameters()}

    def copies():
        """Return the shapes of the parameters that a call copies to the device, whose results are right."""
        copied.clear()
        check_same(made(x), net(x))
        found = sorted(shape for shape in copied if shape in weights)
        return None if arrays_on(device.type).takes_host_arrays else found

    def is_copied(*shapes):
        found = copies()
        assert found is None or found == sorted(shapes)

    is_copied((11, 7), (11,), (5, 11), (5,))
    is_copied()
    net.a.weight.add_(1)
    net.b.bias.mul_(0.5)
    is_copied((11, 7), (5,))
    net.a.bias = torch.nn.Parameter(torch.randn(11), requires_grad=False)
    is_copied((11,))
    is_copied()
    net.load_state_dict({name: torch.randn(one.shape) for name, one in net.state_dict().items()})
    is_copied((11, 7), (11,), (5, 11), (5,))
    is_copied()


LAYOUTS = {
    "permuted": lambda: torch.randn(3, 5, 7).permute(2, 0, 1),
    "expanded": lambda: torch.randn(3, 1, 7).expand(3, 5, 7),
    "with gaps": lambda: torch.randn(6, 11)[::2, 1::3],
    "0-d": lambda: torch.randn(()),
    "empty": lambda: torch.randn(3, 0, 5),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout, options):
    check(lambda x: (x * 2, x.transpose(0, -1) if x.ndim else x), LAYOUTS[layout](), **options)


def test_strict(options):
    with pytest.raises(NotImplementedError, match=r"strict is set:\n  linalg_inv_ex \(aten.linalg_inv_ex.default\)"):
        compiled(lambda x: torch.linalg.inv(x * 2), **options)(torch.eye(3))
    check(lambda x: torch.linalg.inv(x * 2) * 2, torch.eye(3), **(options | {"strict": False}))


def test_explain(device, options):
    text = ep.torch.explain(Net(), torch.randn(3, 7), options=options)
    assert f"graphs: 2, on {device.type.tag}" in text
    assert "tanh" in text
    assert "memory: " in text


LACKING = """
import torch
import ep_numpy_device
from ep.include import UnsupportedPrimitiveError

x = torch.randn(3, 7)

def model(x):
    return torch.tanh(x).cumsum(0), torch.erf(x)

def message(options):
    try:
        torch.compile(model, backend="ep", options=options)(x)
    except UnsupportedPrimitiveError as error:
        return str(error)

for options in ({"device": "numpy"}, {"device": "numpy", "strict": True}):
    head, *lines = message(options).split("\\n")
    assert head == 'numpy lacks kernels; with otherwise="cpu", the CPU computes what needs them:', head
    assert [line.split()[0] for line in lines] == ["tanh", "cumulative_sum", "erf"], lines

# the call says what its gradients lack, too; a call that lacks nothing is done, whether or not somebody wants gradients
x = torch.randn(3, 7, requires_grad=True)
model = lambda x: torch.erf(x)
head, *lines = message({"device": "numpy"}).split("\\n")
assert [line.split()[0] for line in lines[:1]] == ["erf"], lines
assert {line.split()[2] for line in lines[1:]} == {"exp", "mul"}, lines
assert all(line.startswith("  for gradients, ") for line in lines[1:]), lines
x = torch.rand(3, 7, requires_grad=True)
found = torch.compile(lambda x: torch.sqrt(x), backend="ep", options={"device": "numpy"})(x)
torch.testing.assert_close(found, torch.sqrt(x))
try:
    found.sum().backward()
except UnsupportedPrimitiveError as error:
    head, *lines = str(error).split("\\n")
    assert "div" in {line.split()[0] for line in lines}, lines
    print("refused")
"""


def test_the_error_lists_all_that_a_device_lacks():
    assert run(LACKING, f"{SOURCES}/examples/ep_numpy_device") == "refused\n"


MIXED = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(
            *(torch.nn.Conv2d(3, 5, 3), torch.nn.BatchNorm2d(5), torch.nn.ReLU()),
            *(torch.nn.MaxPool2d(2), torch.nn.Flatten()),
        )
        self.head = torch.nn.Linear(45, 7)

    def forward(self, x):
        return torch.relu(self.head(self.body(x))), torch.linalg.inv(torch.eye(3) + x[0, 0, :3, :3].square())

torch.manual_seed(3)
net, x = Net(), torch.randn(2, 3, 8, 9)
mixed = torch.compile(net, backend="ep", options={"device": "numpy", "otherwise": "cpu"})
for _ in range(2):
    found, gradients = [], []
    for model in (mixed, net):
        found.append(model(x))
        found[-1][0].square().mean().backward()
        gradients.append([one.grad.clone() for one in net.parameters()])
        net.zero_grad()
    for some in (found, gradients):
        for one, other in zip(*some, strict=True):
            torch.testing.assert_close(one, other, rtol=2e-5, atol=2e-6)
"""


def test_another_device_computes_what_one_lacks(run_beside):
    run_beside(MIXED)


def test_what_the_other_device_reads_is_not_copied_to_the_first_one(run_beside):
    """Neither parameters nor inputs; a parameter that changes is followed."""
    run_beside(
        """
import torch
from tests.borders import counting
torch.manual_seed(3)
net = torch.nn.Sequential(torch.nn.Linear(5, 13), torch.nn.ReLU(), torch.nn.Linear(13, 11)).requires_grad_(False)
mixed = torch.compile(net, backend="ep", options={"device": "numpy", "otherwise": "cpu"})
for change in (0, 0, 1, 0):
    x = torch.randn(3, 5)
    net[0].weight += change
    net[2].bias = torch.nn.Parameter(net[2].bias + change, requires_grad=False)
    with counting(TAG) as counts:
        found = mixed(x)
    torch.testing.assert_close(found, net(x), rtol=2e-5, atol=2e-6)
    assert (counts.from_host, counts.to_host) == (4 * 3 * (13 + 11),) * 2, counts  # before relu, and the result

both = torch.compile(lambda x, w: (torch.relu(w) + x @ w, x), backend="ep",
                     options={"device": "numpy", "otherwise": "cpu"})
for _ in range(2):
    x, w = torch.randn(5, 5), torch.randn(5, 5)
    found, same = both(x, w)
    torch.testing.assert_close((found, same), (torch.relu(w) + x @ w, x), rtol=2e-5, atol=2e-6)
"""
    )


def test_kernels_that_are_registered_later_compute_the_next_call(run_beside):
    run_beside(
        f"""import torch{TANH}
x, mixed = torch.randn(3, 5), torch.compile(lambda x: torch.tanh(torch.relu(x)), backend="ep",
                                            options={{"device": "numpy", "otherwise": "cpu"}})
for count in (0, 2):
    for _ in range(2):
        torch.testing.assert_close(mixed(x), torch.tanh(torch.relu(x)))
    assert len(launched) == count, launched
    if not count:
        register_tanh()
"""
    )


MODELS = """
import torch
import ep.torch
from tests.borders import counting, said
from tests.torch.models import MODELS

def made():
    torch._dynamo.reset()
    torch.manual_seed(1)
    return MODELS[NAME].make(False)

def compiled(net, **options):
    return torch.compile(net, backend="ep", options=options)

args, loss_of = MODELS[NAME].inputs(False, torch.Generator().manual_seed(2)), MODELS[NAME].loss
mixed = {"device": TAG, "otherwise": "cpu"}
"""

FORWARD = """
with torch.no_grad():
    expected, net = compiled(made().eval())(*args), made().eval()
    function = compiled(net, **mixed)
    for _ in range(2):
        with counting(TAG) as counts:
            result = function(*args)
    torch.testing.assert_close(result, expected, rtol=0, atol=BOUND * float(expected.abs().max()))
    told = said(str(ep.torch.explain(net, *args, options=mixed)), TAG)
assert counts.launches == told.launches, (counts, told)
assert counts.to_host == told.to_host + result.nbytes, (counts, told)
assert counts.from_host >= told.from_host, (counts, told)  # and tensors of PyTorch that the device reads
"""


@pytest.mark.parametrize("name", ["perceptron", "resnet18"])
def test_models_beside_the_cpu(run_on_example, name):
    """They compute what the CPU computes. `explain` has each launch, and all bytes but those of PyTorch's tensors."""
    run_on_example(f"NAME = {name!r}\n{MODELS}{FORWARD}")


TRAINING = """
found = []
for options in ({}, mixed):
    net = made()
    function, step = compiled(net, **options), torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)
    losses = []
    for _ in range(10):
        step.zero_grad()
        loss = loss_of(function(*args))
        loss.backward()
        step.step()
        losses.append(loss.detach())
    found.append([torch.stack(losses), *[one.detach() for one in net.parameters()]])
assert found[0][0][-1] < found[0][0][0]
for one, other in zip(*found, strict=True):  # the differences of ten steps add up
    torch.testing.assert_close(one, other, rtol=0, atol=10 * BOUND * float(other.abs().max()))
"""


def test_ten_steps_of_training_beside_the_cpu(run_on_example):
    run_on_example(f"NAME = 'perceptron'\n{MODELS}{TRAINING}")
