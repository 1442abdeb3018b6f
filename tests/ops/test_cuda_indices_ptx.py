"""The PTX of the kernels that read indices, compiled without a device, and the report of ptxas."""

import pytest

from ep.cuda.kernels.indices import kernels
from ep.include.number_kind import INTEGERS
from tests.cuda.main_kernels import ptx
from tools.ptx import find_ptxas, instructions, resources

SIZES = {data_type.name: data_type.itemsize for data_type in INTEGERS}
REGISTERS = 32


@pytest.fixture(scope="module", params=[(9, 0), (8, 0)], ids=["sm_90", "sm_80"])
def texts(request):
    """The PTX of all kernels, by name, and the compute capability."""
    return {kernel.name: ptx(kernel, request.param) for kernel in kernels()}, request.param


def test_there_is_a_kernel_for_every_type(texts):
    signed = [name for name in SIZES if not name.startswith("kU")]
    names = {f"{kind}_indices.{name}" for kind in ("check", "clip") for name in SIZES}
    names |= {f"wrap_indices.{name}.kInt64" for name in signed}
    names |= {f"wrap_indices.{name}.kInt32" for name in signed if SIZES[name] <= 4}
    assert set(texts[0]) == names


def test_instructions(texts):
    for name, text in texts[0].items():
        found = instructions(text)
        assert (found.local, found.float64, found.division64, found.calls) == (0, 0, 0, 0), name
        assert found.widest_load == SIZES[name.split(".")[1]], name
        kind, result = name.partition("_")[0], name.rpartition(".")[2]
        assert found.widest_store == (0 if kind == "check" else SIZES[result]), name


def test_reports(texts):
    """One thread claims the report, then writes the words, and then the code, in memory that the host can read."""
    for name, text in texts[0].items():
        _, *steps = text.split("// begin inline asm")
        steps = [step.split()[0] for step in steps]
        steps = [step for step in steps if step != "add.s64"]  # of the loop
        if name.startswith("clip"):
            assert steps == []
            continue
        assert steps[:2] == ["ld.relaxed.sys.global.b64", "atom.relaxed.gpu.global.cas.b64"], name
        assert steps[2:5] == ["st.relaxed.sys.global.b64"] * 3, name
        assert steps[5:] == ["st.release.sys.global.b64"], name


def test_registers(texts):
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("ptxas is not installed")
    for name in (
        "check_indices.kInt64",
        "wrap_indices.kInt32.kInt32",
        "wrap_indices.kInt64.kInt64",
        "clip_indices.kUInt8",
    ):
        used = resources(ptxas, texts[0][name], texts[1])
        assert (used.stack, used.spill_stores, used.spill_loads) == (0, 0, 0), name
        assert 0 < used.registers <= REGISTERS, name
