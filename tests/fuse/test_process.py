"""Traces and first calls during threads, forks, interrupts and other processes."""

import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

import ep
from tests.cpu.test_forks import FORKS
from tests.subprocesses import run

CALL = """
import sys
import numpy as np
import ep
fused = ep.fuse(lambda x, rate: ep.ops.relu(x * rate - 1.0))
x = np.array([0.0, 1.0, 4.0], np.float32)
first = fused(x, 0.5).tolist()
with ep.lazy() as lazy:
    view = lazy.view(x)
    view[...] = view * 2.0 + 1.0
from ep.cpu.compile.compiler import statistics
print(first, x.tolist())
print(statistics.compiled)
print(statistics.loaded)
"""


@pytest.mark.ep_long
def test_the_second_process_compiles_nothing_unless_a_source_was_edited(kernels, tmp_path):
    """relu is edited in a file that contains no kernel."""
    sources, cache = tmp_path / "sources", {"EP_CACHE_DIR": str(kernels)}
    shutil.copytree(Path(ep.__file__).parent, sources / "ep")
    results, compiled, loaded = run(CALL, str(sources), **cache).splitlines()
    assert results == "[0.0, 0.0, 1.0] [1.0, 3.0, 9.0]"
    all_of_them = str(int(compiled) + int(loaded))
    assert int(compiled) >= 2
    assert run(CALL, str(sources), **cache).splitlines() == [results, "0", all_of_them]
    functors = sources / "ep" / "common" / "functor" / "unary"
    (changed,) = (path for path in functors.glob("*.py") if "def relu(" in path.read_text())
    text = changed.read_text()
    changed.write_text(text.replace("return zero if x <= zero else x", "return x if x <= zero else (zero)"))
    other = "[-1.0, -0.5, 0.0] [1.0, 3.0, 9.0]"
    assert run(CALL, str(sources), **cache).splitlines() == [other, all_of_them, "0"]
    changed.write_text(text)
    assert run(CALL, str(sources), **cache).splitlines() == [results, "0", all_of_them]


def test_threads_trace_and_call_one_function(rng):
    """Each thread has a number on which the trace depends; other threads change it between the thread's trace and
    look-up.
    """
    fused = ep.fuse(lambda x, rate, power: (x * rate if power > 2 else x + rate) * 3.0)
    x, start, wrong = rng.random((8, 8), np.float32), threading.Barrier(8), []

    def call(number):
        start.wait()
        for turn in range(40):
            part, rate, power = x[: 1 + (turn + number) % 5], float(number + 1), (turn + number) % 6
            scaled = part * np.float32(rate) if power > 2 else part + np.float32(rate)
            try:
                if not np.array_equal(fused(part, rate, power), scaled * 3):
                    wrong.append((number, turn))
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")
@pytest.mark.ep_long
def test_forks_during_and_after_a_first_call(kernels):
    """The second process has its kernels from the first one; a call is repeated in compiled code from the third on."""
    for calls_before in (1, 0):
        code = f"""
fused = ep.fuse(lambda x: ep.ops.relu(x * 2.0) - x)
def launch():
    for _ in range(3):
        assert np.array_equal(fused(x), np.float32(2) * x - x)
for _ in range({calls_before}):
    launch()
forks_while([launch], launch, 12)
"""
        run(FORKS + code, EP_CACHE_DIR=str(kernels))


def test_an_interrupt_in_a_trace_leaves_nothing(rng):
    x, interrupts, kept = rng.random(5), [KeyboardInterrupt, None], []

    @ep.fuse
    def fused(x, number):
        kept.append(x * number)
        if error := interrupts.pop(0):
            raise error
        return kept[-1] + 1.0

    with pytest.raises(KeyboardInterrupt):
        fused(x, 2.0)
    with pytest.raises(RuntimeError, match="has ended"):
        kept[0] + 1.0
    assert np.array_equal(fused(x, 2.0), x * 2 + 1)
    assert np.array_equal(fused(x, 3.0), x * 3 + 1)

    def assign(view, lazy):
        view[...] = view + 1.0
        raise KeyboardInterrupt

    before = x.copy()
    with pytest.raises(KeyboardInterrupt), ep.lazy() as lazy:
        assign(lazy.view(x), lazy)
    assert np.array_equal(x, before)
