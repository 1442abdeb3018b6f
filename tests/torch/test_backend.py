"""The backend: options, layouts of inputs and results, parameters, sizes, random numbers, steps of PyTorch."""

import gc
import itertools
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; the extra `torch` has it")

from torch._dynamo.backends.common import aot_autograd  # noqa: E402

import ep.torch  # noqa: E402
from tests.torch.compared import check, check_same, compiled  # noqa: E402
from tests.torch.networks import Net  # noqa: E402

F = torch.nn.functional


def normal(*shape, **kwargs):
    return torch.randn(*shape, **kwargs)


def test_the_entry_point_needs_no_import():
    code = "import torch; print(torch.compile(lambda x: x * 2 + 1, backend='ep')(torch.arange(3.0)).tolist())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[1.0, 3.0, 5.0]\n"


def test_training_does_not_import_another_compiler():
    code = """
import sys, torch
x = torch.ones(3, requires_grad=True)
torch.compile(lambda x: torch.tanh(x * 2).sum(), backend="ep")(x).backward()
print("torch._inductor.lowering" in sys.modules, x.grad.shape)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False torch.Size([3])\n"


def test_a_repeated_call_runs_few_functions_of_ep():
    made, x, names = compiled(lambda x, y: torch.tanh(x * 2 + y)), torch.ones(67), []
    for _ in range(4):
        made(x, x)
    folder = str(Path(ep.__file__).parent)

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(folder):
            names.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        made(x, x)
    finally:
        sys.setprofile(None)
    assert len(names) <= 6, names


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"devise": "cpu"}, TypeError, "options has 'devise'; backend ep knows device, otherwise, strict, round_each"),
        ({"device": 3}, TypeError, "options: device must be a DeviceType or its tag"),
        ({"device": "tpu"}, ValueError, "device 'tpu' is not known"),
        ({"otherwise": "tpu"}, ValueError, "otherwise 'tpu' is not known"),
        ({"strict": 1}, TypeError, "options: strict must be True or False, not 1"),
    ],
)
def test_wrong_options(options, error, words):
    with pytest.raises(Exception, match=words) as raised:
        compiled(lambda x: x + 1, **options)(torch.ones(2))
    assert isinstance(raised.value, error) or error.__name__ in str(raised.value)


def test_other_keywords_are_refused():
    with pytest.raises(Exception, match="unexpected keyword argument 'mode'"):
        torch.compile(lambda x: x + 1, backend="ep", mode="max-autotune")(torch.ones(2))


LAYOUTS = {
    "contiguous": lambda: normal(3, 5, 7),
    "permuted": lambda: normal(3, 5, 7).permute(2, 0, 1),
    "channels last": lambda: normal(2, 5, 3, 7).contiguous(memory_format=torch.channels_last),
    "expanded": lambda: normal(3, 1, 7).expand(3, 5, 7),
    "one number": lambda: normal(()).expand(3, 5),
    "with gaps": lambda: normal(6, 11)[::2, 1::3],
    "a column": lambda: normal(5, 7)[:, 2:3],
    "0-d": lambda: normal(()),
    "empty": lambda: normal(3, 0, 5).permute(2, 1, 0),
    "size 1": lambda: normal(1, 5, 1, 7).permute(2, 1, 0, 3),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    x = LAYOUTS[layout]()
    check(lambda x: (x * 2, torch.exp(x).transpose(0, -1) if x.ndim else x + 1, x.sum()), x)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_layouts(layout):
    x = LAYOUTS[layout]().requires_grad_()
    check(lambda x: (torch.tanh(x) * 3, (x * x).sum().expand(3)), x)


def test_results_that_are_inputs_views_and_each_other():
    x, y = normal(3, 5), normal(5)

    def function(x, y):
        z = x + y
        return x, x.t(), z, z[1:], z.reshape(-1), x, y.expand(2, 5), torch.zeros(3), 7

    check(function, x, y)


@pytest.mark.parametrize("of_results", [
    lambda x: (x.t(),),
    lambda x: (x.t(), x),
    lambda x: (x.t(), x.t()),
    lambda x: (x.t().reshape(-1),),
    lambda x: (x.view(-1).view(5, 3).t().unsqueeze(0),),
    lambda x: (x.view(1, 3, 5).permute(2, 0, 1)[:, 0],),
    lambda x: (x[1:],),
    lambda x: (x.t(), torch.special.i0(x)),
    lambda x: (x.t(), torch.special.i0(x.t())),
    lambda x: (torch.special.i0(x.t()) + x.view(-1).view(5, 3),),
    lambda x: x.unbind(1),
    lambda x: (*x.split(3), x[0].expand(2, 5)),
])  # fmt: skip
def test_results_that_are_views_of_what_is_computed(of_results):
    check(lambda x: of_results(torch.tanh(x)), normal(3, 5).requires_grad_())


def test_no_result_shares_memory_with_another_call():
    made = compiled(lambda x: (x + 1, x.reshape(-1) * 1))
    x = normal(3, 5)
    calls = [made(x) for _ in range(4)]
    kept = [(one.clone(), other.clone()) for one, other in calls]
    made(normal(3, 5))
    check_same(calls, kept)


def test_no_call_keeps_its_tensors():
    net, embedding = Net(), torch.nn.Embedding(13, 7)
    trained = compiled(lambda tokens, x: net(embedding(tokens) + x).square().sum())
    # one call of each size is recorded; the kernels of the second size have been compiled
    for size, step in itertools.product((3, 5), range(4)):
        given = torch.arange(2 * size).reshape(2, size), normal(2, size, 7, requires_grad=True)
        loss = trained(*given)
        loss.backward()
        written = [one.grad for one in (*net.parameters(), *embedding.parameters(), given[1])]
        references = [weakref.ref(one) for one in (*given, *written, loss)]
        # a view of a tensor's memory keeps the memory, not the tensor
        memory = [torch.multiprocessing.reductions.StorageWeakRef(one.untyped_storage()) for one in (*given, *written)]
        net.zero_grad()
        embedding.zero_grad()
        del given, loss, written
        gc.collect()
        assert [one() for one in references] == [None] * len(references), (size, step)
        assert [one.expired() for one in memory] == [True] * len(memory), (size, step)


def test_an_input_that_is_written_to():
    def function(x):
        x.mul_(2)
        x[1] = 5
        return x.sum()

    x = normal(3, 5)
    y = x.clone()
    made = compiled(function)
    for _ in range(3):
        check_same(made(x), function(y))
        check_same(x, y)


class TestParameters:
    """A parameter is read where it is when a call begins."""

    def test_written_to(self):
        net, made, x = (net := Net()), compiled(net), normal(3, 7)
        for k in range(4):
            check_same(made(x), net(x))
            with torch.no_grad():
                net.a.weight.add_(0.1 * (k + 1))
                net.b.bias.data.mul_(1.5)

    def test_loaded(self):
        net, made, x = (net := Net()), compiled(net), normal(3, 7)
        made(x)
        for _ in range(3):
            net.load_state_dict({name: normal(one.shape) for name, one in net.state_dict().items()})
            check_same(made(x), net(x))

    def test_replaced_and_moved(self):
        net, made, x = (net := Net()), compiled(net), normal(3, 7)
        for _ in range(3):
            made(x)
        net.a.weight = torch.nn.Parameter(normal(11, 7))
        check_same(made(x), net(x))
        net.b.weight.data = normal(5, 11)
        check_same(made(x), net(x))
        net.to(torch.float64)
        check_same(made(x.double()), net(x.double()))

    def test_trained(self):
        losses = []
        for backend in ("eager", "ep"):
            torch._dynamo.reset()
            net = Net()
            step = torch.optim.Adam(net.parameters(), 0.01)
            made = torch.compile(net, backend=backend)
            torch.manual_seed(5)
            x, y = normal(13, 7), normal(13, 5)
            found = []
            for _ in range(10):
                step.zero_grad()
                loss = F.mse_loss(made(x), y)
                loss.backward()
                step.step()
                found.append(loss.item())
            losses.append(found)
        np.testing.assert_allclose(*losses, rtol=1e-5)


class TestSizes:
    """Sizes that change from call to call."""

    def test_dynamic(self):
        net = Net()
        made = compiled(net, dynamic=True)
        for rows in (3, 8, 5, 3, 13, 2):
            x = normal(rows, 7)
            check_same(made(x), net(x))

    def test_strides_follow_sizes(self):
        def function(x):
            return (x * 2).transpose(0, 1), x.sum(0).expand(4, x.shape[1]), torch.relu(x)[1:]

        made = compiled(function, dynamic=True)
        for shape in ((3, 5), (7, 2), (4, 11), (3, 5)):
            x = normal(*shape)
            check_same(made(x), function(x))

    def test_gradients(self):
        def function(x, y):
            return torch.tanh(x @ y).sum(0)

        made = compiled(function, dynamic=True)
        for rows, inner in ((3, 5), (7, 2), (4, 11)):
            x, y = normal(rows, inner, requires_grad=True), normal(inner, 5, requires_grad=True)
            dy = normal(5)
            grads = [torch.autograd.grad(one(x, y), (x, y), dy) for one in (made, function)]
            check_same(*grads)

    def test_a_number_that_changes_makes_few_plans(self):
        made = compiled(lambda x, k: x * k + k, dynamic=True)
        x = normal(3, 5)
        for k in (0.5, 1.25, -3.0, 7.5):
            check_same(made(x, k), x * k + k)
        for k in (2, 5, 11):
            check_same(made(x, k), x * k + k)

    def test_a_size_that_data_decide(self):
        with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):

            def function(x):
                return torch.nonzero(x > 0).sum() + x.mean(), x[x > 0] * 2

            made = compiled(function)
            for _ in range(3):
                x = normal(3, 5)
                check_same(made(x), function(x))


class TestRandomNumbers:
    """They come from PyTorch's generator: the same seed gives the same numbers as eager."""

    def test_dropout(self):
        check(lambda x: F.dropout(torch.exp(x), 0.3) + F.dropout(x * 2, 0.6), normal(7, 11, requires_grad=True))

    def test_several_in_their_order(self):
        def function(x):
            y = torch.relu(x) + torch.rand(5)
            return y, torch.bernoulli(torch.sigmoid(y)), torch.randn_like(y)

        check(function, normal(3, 5))


class TestStepsOfPyTorch:
    """Steps that ep has no operator for."""

    def test_between_programs(self):
        def function(x):
            y = torch.linalg.inv(torch.tanh(x) + 4 * torch.eye(5))
            return torch.relu(y @ x), y.sum()

        check(function, normal(5, 5, requires_grad=True))

    def test_strict(self):
        function = compiled(lambda x: torch.linalg.inv(x * 2) + 1, strict=True)
        with pytest.raises(
            NotImplementedError, match=r"strict is set:\n  linalg_inv_ex \(aten.linalg_inv_ex.default\)"
        ):
            function(torch.eye(3))
        check(lambda x: F.dropout(torch.exp(x), 0.3), normal(3, 5), strict=True)  # random numbers are no step

    def test_they_are_explained(self):
        def function(x):
            return torch.linalg.inv(torch.tanh(x) * 2) + 1

        text = ep.torch.explain(function, normal(3, 3, requires_grad=True))
        assert "graphs: 2, on cpu" in text
        assert "PyTorch computes aten.linalg_inv_ex.default: ep has no operator for it" in text
        assert "map kernel of tanh mul" in text
        assert "memory:" in text

    def test_sparse_and_complex_tensors(self):
        sparse = normal(5, 5).relu().to_sparse()
        check(lambda x, y: (torch.sparse.mm(x, y.exp()),), sparse, normal(5, 3))
        check(lambda x: (x.conj() * 2, (x * x.conj()).real.exp()), normal(3, 5, dtype=torch.complex64))

    def test_graph_breaks(self):
        def function(x):
            y = torch.tanh(x)
            torch._dynamo.graph_break()
            return y * 2 if y.sum() > 0 else y * 3

        check(function, normal(5, 7))


def test_autocast():
    net = Net()

    def function(x):
        with torch.autocast("cpu", torch.bfloat16):
            return net(x)

    check(function, normal(3, 7))


def test_no_grad_inference_mode_and_exported_programs():
    net, x = Net(), normal(3, 7)
    made = compiled(net)
    for mode in (torch.no_grad, torch.inference_mode, torch.enable_grad):
        with mode():
            for _ in range(3):
                check_same(made(x), net(x))
    with torch.no_grad():
        check_same(compiled(torch.export.export(net, (x,)).module())(x), net(x))


def test_threads():
    net = Net().requires_grad_(False)
    made, found = compiled(net), {}
    inputs = [normal(13, 7) for _ in range(8)]
    made(inputs[0])

    def run(k):
        found[k] = [made(inputs[k]) for _ in range(50)]

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for k, results in found.items():
        for result in results:
            check_same(result, net(inputs[k]))


class _Rows(torch.utils.data.Dataset):
    def __init__(self, made):
        self.made = made

    def __len__(self):
        return 8

    def __getitem__(self, k):
        return self.made(torch.full((2, 7), k / 7))


def test_workers_of_a_data_loader():
    net = Net().requires_grad_(False)
    made = compiled(net)
    made(torch.zeros(2, 7))
    loader = torch.utils.data.DataLoader(_Rows(made), num_workers=2, multiprocessing_context="fork")
    found = torch.cat([*loader])
    expected = torch.stack([net(torch.full((2, 7), k / 7)) for k in range(8)])
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


RESIZES = [
    lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    lambda x: F.interpolate(x, size=(7, 5), mode="bicubic", align_corners=True),
    lambda x: F.interpolate(x, size=(x.shape[2] + 1, 9), mode="nearest"),
    lambda x: F.interpolate(x, scale_factor=(1.5, 0.7), mode="nearest-exact"),
]


@pytest.mark.parametrize("resize", RESIZES)
def test_resizes_are_operators_and_not_gathers(resize):
    x = normal(2, 11, 3, 4).contiguous(memory_format=torch.channels_last).requires_grad_()
    text = ep.torch.explain(resize, x, options={"strict": True})
    assert "ravel_multi_index" not in text
    assert "scatter" not in text
    check(resize, x)
    with torch.inference_mode():
        check_same(compiled(resize)(x), resize(x))


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_resizes_of_images_of_bytes(mode):
    x = torch.randint(0, 256, (2, 3, 5, 7), dtype=torch.uint8, generator=torch.Generator().manual_seed(3))
    check(lambda x: F.interpolate(x, size=(11, 4), mode=mode), x)


def test_resizes_of_sizes_that_vary():
    def function(x):
        return [resize(x) for resize in RESIZES]

    made = compiled(function, dynamic=True)
    for size in ((3, 4), (8, 6), (17, 14)):
        x = normal(2, 11, *size, requires_grad=True)
        results, expected = made(x), function(x)
        check_same(results, expected)
        dys = [torch.randn_like(one) for one in expected]
        check_same(*(torch.autograd.grad(one, x, dys) for one in (results, expected)))


def test_other_compilers_have_their_own_resizes():
    graphs, x = [], normal(2, 3, 5, 7)
    check_same(compiled(RESIZES[0])(x), RESIZES[0](x))
    make = aot_autograd(fw_compiler=lambda graph, _: graphs.append(graph) or graph)
    check_same(torch.compile(RESIZES[0], backend=make)(x), RESIZES[0](x))
    assert not any("upsample" in str(node.target) for node in graphs[0].graph.nodes)
