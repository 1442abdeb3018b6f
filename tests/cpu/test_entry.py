"""Compiled checks, written out from signatures, agree with the checks in Python on any launch."""

import numpy as np
import pytest

from ep.common.primitive.signature import Signature, reads, writes
from ep.cpu.device.buffers import read_buffer
from ep.cpu.engine.plan import Plan
from ep.cpu.shared.layout import layout
from ep.cpu.shared.state import STATE, LaunchState
from ep.include import DataType

T = DataType

SIGNATURES = {
    "in place": Signature((reads("src", 0, "n"), writes("dst", 1, "n", in_place=True)), sizes=("n",)),
    "apart": Signature((reads("src", 0, "n", "m"), writes("dst", 1, "m")), sizes=("n", "m"), others=("offset",)),
    "one element": Signature((reads("src", 0), writes("dst", 0, "n")), sizes=("n",)),
    "two written": Signature(
        (writes("a", 0, "n", in_place=True), reads("b", 1, "n", "m"), writes("c", 1, "m", in_place=True)),
        sizes=("n", "m"),
    ),
}
NO_FIELDS = layout("NoFields")


@pytest.fixture(scope="module")
def entries():
    """For each signature, entries without and with a plan that do nothing."""
    from ep.cpu.compile.jit import jit
    from ep.cpu.engine.entry import entry

    launch = jit(lambda context, num_bytes, in_place, sizes: 0)
    return {
        name: (
            entry(f"test.{name}", signature, STATE, launch),
            entry(f"test.planned.{name}", signature, STATE, launch, NO_FIELDS),
        )
        for name, signature in SIGNATURES.items()
    }


def arrays(rng, memory, count):
    """Arrays anywhere in `memory`, so that many overlap, some of wrong type or layout."""
    made = []
    for _ in range(count):
        dtype = [np.float32, np.float64][int(rng.integers(2))]
        begin, length = int(rng.integers(0, 24)), int(rng.integers(0, 12))
        array = memory[8 * begin :][: length * np.dtype(dtype).itemsize].view(dtype)
        kind = rng.integers(12)
        if kind == 0:
            array = array[::2]
        elif kind == 1:
            array = array.copy()
            array.flags.writeable = False
        elif kind == 2:
            array = array.astype(np.int64)
        made.append(array)
    return made


@pytest.mark.parametrize("name", SIGNATURES)
def test_both_checks_agree(name, entries, rng):
    signature, (entry, planned) = SIGNATURES[name], entries[name]
    memory, agreed = np.zeros(8 * 40, np.uint8), {True: 0, False: 0}
    for _ in range(4000):
        types = [T.kFloat, T.kDouble][int(rng.integers(2))], [T.kFloat, T.kDouble][int(rng.integers(2))]
        types = signature.data_types(types)
        sizes = tuple(int(size) for size in rng.integers(1, 5, len(signature.sizes)))
        buffers, in_place = arrays(rng, memory, len(signature.operands)), bool(rng.integers(4))
        state, plan = LaunchState(STATE, types), Plan(NO_FIELDS, signature)
        plan.set_checks(sizes, in_place)
        others = (0,) * len(signature.others)
        for walks_agree, code in (
            (in_place, planned(state.words, plan.words, (), *buffers)),
            (True, entry(state.words, *sizes, *others, *buffers)),
        ):
            try:
                signature.read(buffers, types, signature.counts(sizes), read_buffer, walks_agree)
                expected = 0
            except (TypeError, ValueError):
                expected = 1
            assert code == expected, (types, sizes, [(b.dtype, b.size, b.ctypes.data) for b in buffers], walks_agree)
            agreed[bool(code)] += 1
    assert min(agreed.values()) > 100


def test_sizes_whose_product_wraps_around_are_refused(entries):
    words = LaunchState(STATE, (T.kFloat, T.kFloat)).words
    src, dst = np.zeros(4, np.float32), np.zeros(4, np.float32)
    entry, _ = entries["apart"]
    assert entry(words, 1, 4, 0, src, dst) == 0
    assert entry(words, 2**32, 2**32, 0, src, dst) == 1  # 2^64 is 0 in 64 bits
    assert entry(words, 0, 4, 0, src, dst) == 1
    assert entry(words, -1, -4, 0, src, dst) == 1
    assert entry(words, "1", 4, 0, src, dst) == 1


def test_dims_are_checked(entries):
    """A plan is found by what is equal to its dims."""

    class Dims(tuple):
        pass

    _, check = entries["in place"]
    state, plan = LaunchState(STATE, (T.kFloat, T.kFloat)), Plan(NO_FIELDS, SIGNATURES["in place"])
    plan.set_checks((4,), True)
    buffers = np.zeros(4, np.float32), np.zeros(4, np.float32)
    good = [(), ((),), (None,), ((4,), None, (2, 2)), (Dims((1, 4)),), ((1, 4, 1), (2**62, -1), None, ())]
    for dims in good:
        assert check(state.words, plan.words, dims, *buffers) == 0, dims
    wrong = [4.0, np.int64(4), True, None, (4,), 4 + 0j]
    for dims in ([4],), (4,), (np.array([4]),), *(((4, number),) for number in wrong):
        assert check(state.words, plan.words, dims, *buffers) == 1, dims
        assert check(state.words, plan.words, ((4,), *dims), *buffers) == 1, dims


def test_a_data_type_of_launch_comes_from_the_plan(entries):
    from ep.cpu.compile.jit import jit
    from ep.cpu.engine.entry import entry

    signature = Signature((reads("src", None, "n"), writes("dst", None, "n")), sizes=("n",))
    check = entry("test.launch_type", signature, STATE, jit(lambda context, num_bytes, in_place, sizes: 0), NO_FIELDS)
    state = LaunchState(STATE, signature.data_types(()))
    for data_type in T.kFloat, T.kInt8:
        plan = Plan(NO_FIELDS, signature)
        plan.set_checks((3,), True, (data_type, data_type))
        for other in T.kFloat, T.kInt8:
            code = check(state.words, plan.words, (), np.zeros(3, other.dtype), np.zeros(3, other.dtype))
            assert code == (data_type is not other)
