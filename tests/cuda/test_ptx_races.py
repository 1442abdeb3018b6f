"""Races in global memory on the machine: only a barrier orders threads of a block, and nothing orders blocks."""

import re

import numpy as np
import pytest

from tests.cuda.ptx_kernels import launch, program
from tests.cuda.ptx_machine import stamps
from tests.cuda.ptx_machine.faults import PtxError

OWN = "mad.wide.u32 %rd1, %i, 4, %out;"
"""%rd1: the address of the thread's own word."""


def run(body, *, blocks=1, threads=1, words=256):
    """Launch a kernel on words of memory, and return them."""
    out = np.zeros(words, np.uint32)
    launch(program(f"mov.u32 %r9, %tid.x;\n{body}"), [out], (blocks, 1, 1), (threads, 1, 1))
    return out


@pytest.mark.parametrize(
    ("blocks", "threads", "who"),
    [(1, 2, "thread (1, 0, 0) of block (0, 0, 0) writes 4 bytes at {}, of which thread (0, 0, 0) of its block"),
     (2, 1, "thread (0, 0, 0) of block (1, 0, 0) writes 4 bytes at {}, of which thread (0, 0, 0) of another block")],
)  # fmt: skip
def test_two_writers(blocks, threads, who):
    words = re.escape(who).replace(r"\{\}", "0x[0-9a-f]+, 0 bytes into the .*")
    with pytest.raises(PtxError, match=words + " writes some too, with no barrier between"):
        run("st.global.u32 [%out], %i;", blocks=blocks, threads=threads)


@pytest.mark.parametrize(("blocks", "threads"), [(1, 40), (40, 1)])
@pytest.mark.parametrize("order", ["reads what was written", "writes what was read"])
def test_a_reader_and_a_writer(blocks, threads, order):
    """Each thread reads its own word, and writes the next word or the one before, which has been read already."""
    step = {"reads what was written": 4, "writes what was read": -4}[order]
    with pytest.raises(PtxError, match=r"accesses|writes or reads some"):
        run(
            f"{OWN}\nld.global.u32 %r1, [%rd1+8];\nst.global.u32 [%rd1+{8 + step}], %i;", blocks=blocks, threads=threads
        )


def test_parts_of_an_access():
    """Threads write whole packs, and the last one writes a byte of another thread's pack."""
    pack = "mad.wide.u32 %rd1, %i, 16, %out;\nst.global.v4.u32 [%rd1], {%i, %i, %i, %i};"
    run(pack, threads=32)
    byte = "st.global.u8 [%out+495], %h1;"
    with pytest.raises(PtxError, match="writes 1 bytes"):
        run(f"setp.eq.u32 %p1, %i, 31;\n@%p1 bra last;\n{pack}\nbra done;\nlast:\n{byte}\ndone:", threads=32)


def test_neighbouring_bytes_do_not_race():
    out = run(
        "mov.u16 %h1, 7;\ncvt.u64.u32 %rd1, %i;\nadd.u64 %rd1, %rd1, %out;\nst.global.u8 [%rd1], %h1;", threads=64
    )
    assert (out[:16] == 0x07070707).all()


def test_a_barrier_orders_the_threads_of_a_block():
    body = f"""
        {OWN}
        st.global.u32 [%rd1], %i;
        bar.sync 0;
        xor.b32 %r1, %i, 63;
        mad.wide.u32 %rd2, %r1, 4, %out;
        ld.global.u32 %r2, [%rd2];
        bar.sync 0;
        st.global.u32 [%rd1], %r2;
    """
    assert (run(body, threads=64)[:64] == np.arange(64)[::-1]).all()
    with pytest.raises(PtxError, match="with no barrier between"):
        run(body.replace("bar.sync 0;", "", 1), threads=64)


def test_a_barrier_does_not_order_blocks():
    with pytest.raises(PtxError, match="of another block"):
        run("st.global.u32 [%out], %i;\nbar.sync 0;", blocks=2)


def test_atomics_do_not_race_with_each_other_alone():
    assert run("red.global.add.u32 [%out], 1;", blocks=3, threads=64)[0] == 192
    with pytest.raises(PtxError, match="of another block writes or reads"):
        run("red.global.add.u32 [%out], 1;\nld.global.u32 %r1, [%out];", blocks=2)


def test_launches_are_in_order():
    out = np.zeros(4, np.uint32)
    kernel = program("st.global.u32 [%out], %i;")
    for _ in range(2):
        launch(kernel, [out])
    launch(program("ld.global.u32 %r1, [%out];"), [out], (4, 1, 1), (32, 1, 1))


def test_large_memory_is_not_watched():
    out = np.zeros(stamps.WATCH.writes.size, np.uint8)
    kernel = program("st.global.u32 [%out], %i;")
    launch(kernel, [out], (2, 1, 1))
    with pytest.raises(PtxError):
        launch(kernel, [out[: 1 << 20]], (2, 1, 1))
