"""The forms of kernels that the environment variables choose: they differ in grids and stores, not in results."""

import ml_dtypes
import numpy as np
import pytest

from ep import DeviceType, RequirePrimitive, UnaryOp
from ep.bench import numpy_ways
from ep.bench.builders import binary, expand, unary
from ep.bench.builders_map import add, cast, where
from ep.bench.builders_move import cut, pad
from ep.bench.trial import set_up
from ep.cli.names import factory_of
from ep.common.environment import set_meanwhile
from ep.cuda.compile.form import Form, current_form
from ep.cuda.compile.launch_config import BLOCK_THREADS, PASS_ITEMS
from ep.include.primitive import BinaryOp, ElementwiseUnaryFactory

FORMS = [Form(True, False), Form(False, True), Form(True, True)]
HALF, BYTE = np.dtype(ml_dtypes.bfloat16), np.dtype(np.int8)
CASES = {
    "relu": unary("relu", UnaryOp.kRelu, (20_003,), numpy_ways.relu),
    "abs of doubles": unary("abs", UnaryOp.kAbs, (5_003,), numpy_ways.UNARY[UnaryOp.kAbs], dtype=np.float64),
    "abs of bytes": unary("abs", UnaryOp.kAbs, (70_001,), numpy_ways.UNARY[UnaryOp.kAbs], dtype=BYTE),
    "add a row": binary("add", BinaryOp.kAdd, (67, 131), (131,), np.add),
    "add a column": binary("add", BinaryOp.kAdd, (64, 132), (64, 1), np.add),
    "cast": cast("cast", (9_001,), np.float32, HALF),
    "where": where("where", (67, 131), (67, 131), (131,)),
    "add four": add("add", 4, (67, 131)),
    "expand long rows of bytes": expand("expand", (1, 1001), (9, 1001), BYTE),
    "expand": expand("expand", (131, 1), (131, 67)),
    "cut": cut("cut", (130, 131), (1, 3), (127, 125), np.dtype(np.float32)),
    "pad": pad("pad", (30, 131), (1, 3), (2, 0), np.dtype(np.float32)),
}


@pytest.fixture
def with_form(monkeypatch):
    """A function that sets the environment variables of a form."""

    def choose(form):
        monkeypatch.setenv("EP_CUDA_GRID", "pass" if form.one_pass else "resident")
        monkeypatch.setenv("EP_CUDA_STORES", "streaming" if form.streams else "cached")
        assert current_form() == form

    return choose


@pytest.fixture
def launched(cuda, monkeypatch):
    """A list of the kernels that are launched: their PTX and the number of blocks."""
    if not cuda.driver.loads_ptx:
        pytest.skip("kernels do not run from their PTX")
    found, run = [], type(cuda.driver).launch

    def launch(self, device, function, grid, *others):
        found.append((function, grid[0]))
        run(self, device, function, grid, *others)

    monkeypatch.setattr(type(cuda.driver), "launch", launch)
    return found


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.suffix)
@pytest.mark.parametrize("name", CASES)
def test_results(cuda, with_form, launched, name, form):
    """The results are NumPy's in every form, and kernels of the form compute them."""
    with_form(form)
    case = CASES[name]
    assert set_up(case, cuda, factory_of(case.primitive)).is_right
    kernels = [(program, blocks) for program, blocks in launched if program.name.startswith(("map.", "move"))]
    if name == "pad":  # whose kernels have one form
        assert not kernels
        return
    for program, _ in kernels:
        assert program.name.endswith(form.suffix)
        stores = [site for site in program.executed() if site.name == "st" and "global" in site.modifiers]
        assert {"cs" in site.modifiers for site in stores} == {form.streams}
    assert kernels


@pytest.mark.parametrize("items", [1, BLOCK_THREADS * PASS_ITEMS, BLOCK_THREADS * PASS_ITEMS + 1])
def test_blocks_of_one_pass(cuda, stream, with_form, launched, items):
    """The grid has a block for every 1,024 packs, whatever the device holds."""
    with_form(Form(one_pass=True))
    relu = RequirePrimitive(ElementwiseUnaryFactory, DeviceType.kCUDA, UnaryOp.kRelu, "float32", "float32")
    memory = stream.AllocAsync(4 * 4 * items).view(np.float32)
    memory.copy_from_host(np.full(4 * items, -1, np.float32), stream)
    relu.Launch(stream, memory, memory, 4 * items)
    assert not memory.copy_to_host(stream).any()
    assert [blocks for _, blocks in launched] == [-(-items // (BLOCK_THREADS * PASS_ITEMS))]


def test_what_is_not_a_form(cuda):
    with set_meanwhile("EP_CUDA_GRID", "all"), pytest.raises(ValueError, match="EP_CUDA_GRID is 'all'; it must be"):
        current_form()
