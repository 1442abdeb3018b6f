"""Models on a device: training, layouts, parameters that are copied once and followed, what a device lacks."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; the extra `torch` has it")

import ep.torch  # noqa: E402
from ep.common.arrays.on_device import arrays_on  # noqa: E402
from tests.subprocesses import SOURCES  # noqa: E402
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

def model(x):
    return torch.tanh(x).cumsum(0), torch.erf(x)

def message(options):
    try:
        torch.compile(model, backend="ep", options=options)(torch.randn(3, 7))
    except UnsupportedPrimitiveError as error:
        return str(error)

for options in ({"device": "numpy"}, {"device": "numpy", "strict": True}):
    head, *lines = message(options).split("\\n")
    assert head == "numpy lacks kernels of the model:", head
    assert [line.split()[0] for line in lines] == ["tanh", "cumulative_sum", "erf"], lines
"""


def test_the_error_lists_all_that_a_device_lacks():
    path = f"{SOURCES}/examples/ep_numpy_device"
    code = f"import sys; sys.path[:0] = [{path!r}, {SOURCES!r}]\n{LACKING}"
    subprocess.run([sys.executable, "-c", code], check=True)
