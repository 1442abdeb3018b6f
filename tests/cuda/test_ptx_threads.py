"""Synchronisation of threads on the machine, at barriers, shuffles, votes and reductions; and wrong uses of it."""

import re

import numpy as np
import pytest

from tests.cuda.ptx_kernels import launch, program
from tests.cuda.ptx_machine.faults import PtxError

SHARED = ".shared .align 4 .u32 kept[64];"
EXTERN = ".extern .shared .align 16 .b8 dynamic[];"
OWN_PLACE = "mov.u64 %rd1, kept;\nmad.wide.u32 %rd1, %i, 4, %rd1;\nmad.wide.u32 %rd2, %i, 4, %out;"


def test_a_barrier_lets_all_see_what_was_written():
    """Each thread reads the value that the thread before it wrote, twice."""
    turn = """
        st.shared.u32 [%rd1], %r1;
        bar.sync 0;
        add.u32 %r2, %i, 63;
        and.b32 %r2, %r2, 63;
        mov.u64 %rd3, kept;
        mad.wide.u32 %rd3, %r2, 4, %rd3;
        ld.shared.u32 %r1, [%rd3];
        bar.sync 0;
    """
    out = np.zeros(64, np.uint32)
    kernel = program(f"{OWN_PLACE}\nmov.u32 %r1, %i;\n{turn}{turn}st.global.u32 [%rd2], %r1;", declarations=SHARED)
    launch(kernel, [out], threads=(64, 1, 1))
    np.testing.assert_array_equal(out, np.roll(np.arange(64), 2))


def test_dynamic_shared_memory_comes_after_the_static():
    out = np.zeros(8, np.uint32)
    kernel = program(
        """
        mov.u64 %rd1, dynamic;
        mad.wide.u32 %rd3, %i, 4, %rd1;
        st.shared.u32 [%rd3], %i;
        mov.u64 %rd4, kept;
        mad.wide.u32 %rd4, %i, 4, %rd4;
        st.shared.u32 [%rd4], 9;
        bar.sync 0;
        xor.b32 %r1, %i, 7;
        mad.wide.u32 %rd5, %r1, 4, %rd1;
        cvta.shared.u64 %rd6, %rd5;
        ld.u32 %r2, [%rd6];
        mad.wide.u32 %rd2, %i, 4, %out;
        st.global.u32 [%rd2], %r2;
        """,
        declarations=SHARED + EXTERN,
    )
    launch(kernel, [out], threads=(8, 1, 1), shared_bytes=32)
    np.testing.assert_array_equal(out, np.arange(8)[::-1])
    assert kernel.shared_bytes == 256


@pytest.mark.parametrize(("how", "want"), [("popc.u32", 22), ("and.pred", 0), ("or.pred", 1)])
def test_barriers_that_vote(how, want):
    out = np.full(64, 99, np.uint32)
    result = "%r1" if how == "popc.u32" else "%p2"
    give = "" if how == "popc.u32" else "selp.u32 %r1, 1, 0, %p2;"
    kernel = program(f"""
        rem.u32 %r2, %i, 3;
        setp.eq.u32 %p1, %r2, 0;
        bar.red.{how} {result}, 0, %p1;
        {give}
        mad.wide.u32 %rd2, %i, 4, %out;
        st.global.u32 [%rd2], %r1;
    """)
    launch(kernel, [out], threads=(64, 1, 1))
    assert (out == want).all()


def lanes(body, *, threads=64, results=1):
    """Return each thread's values of %r1, %r2, ... after `body`."""
    stores = "\n".join(f"st.global.u32 [%rd2+{4 * place}], %r{place + 1};" for place in range(results))
    out = np.zeros((threads, results), np.uint32)
    kernel = program(f"{body}\nmad.wide.u32 %rd2, %i, {4 * results}, %out;\n{stores}")
    launch(kernel, [out], threads=(threads, 1, 1))
    return out.T.astype(int)


@pytest.mark.parametrize("width", [32, 8])
@pytest.mark.parametrize(
    ("mode", "bound", "source"),
    [
        ("up", 0, lambda lane, n, width: lane - n if lane % width >= n else None),
        ("down", 31, lambda lane, n, width: lane + n if lane % width + n < width else None),
        ("bfly", 31, lambda lane, n, width: lane ^ n if (lane ^ n) // width <= lane // width else None),
        ("idx", 31, lambda lane, n, width: lane // width * width + n % width),
    ],
)
def test_shuffles(mode, bound, source, width):
    for distance in (0, 1, 3, 8, 19):
        limits = (32 - width) << 8 | bound
        values, inside = lanes(
            f"""
            add.u32 %r5, %i, 1000;
            shfl.sync.{mode}.b32 %r1|%p1, %r5, {distance}, {limits}, 0xFFFFFFFF;
            selp.u32 %r2, 1, 0, %p1;
            """,
            results=2,
        )
        for thread in range(64):
            lane = source(thread % 32, distance, width)
            assert inside[thread] == (lane is not None)
            taken = thread % 32 if lane is None else lane
            assert values[thread] == 1000 + thread // 32 * 32 + taken


def test_votes():
    got = lanes(
        """
        setp.lt.u32 %p1, %i, 40;
        vote.sync.all.pred %p2, %p1, 0xFFFFFFFF;
        vote.sync.any.pred %p3, %p1, 0xFFFFFFFF;
        vote.sync.uni.pred %p4, %p1, 0xFFFFFFFF;
        vote.sync.ballot.b32 %r4, !%p1, 0xFFFFFFFF;
        selp.u32 %r1, 1, 0, %p2;
        selp.u32 %r2, 1, 0, %p3;
        selp.u32 %r3, 1, 0, %p4;
        """,
        results=4,
    )
    np.testing.assert_array_equal(got[:, :32], np.repeat([[1], [1], [1], [0]], 32, axis=1))
    np.testing.assert_array_equal(got[:, 32:], np.repeat([[0], [1], [0], [0xFFFFFF00]], 32, axis=1))


REDUCTIONS = {"add.s32": np.sum, "min.s32": np.min, "max.s32": np.max, "and.b32": np.bitwise_and.reduce}
REDUCTIONS |= {"or.b32": np.bitwise_or.reduce, "xor.b32": np.bitwise_xor.reduce}


@pytest.mark.parametrize("operation", REDUCTIONS)
def test_reductions_over_a_warp(operation):
    (got,) = lanes(f"mad.lo.s32 %r5, %i, 37, -1000;\nredux.sync.{operation} %r1, %r5, 0xFFFFFFFF;")
    values = (np.arange(64, dtype=np.int32) * 37 - 1000).reshape(2, 32)
    want = [REDUCTIONS[operation](row).astype(np.uint32) for row in values]
    np.testing.assert_array_equal(got, np.repeat(want, 32))


def test_unsigned_extremes_over_a_warp():
    body = "sub.u32 %r5, %i, 7;\nredux.sync.min.u32 %r1, %r5, 0xFFFFFFFF;\nredux.sync.max.u32 %r2, %r5, 0xFFFFFFFF;"
    low, high = lanes(body, results=2)
    values = (np.arange(64) - 7).astype(np.uint32).reshape(2, 32)
    np.testing.assert_array_equal(low, np.repeat(values.min(axis=1), 32))
    np.testing.assert_array_equal(high, np.repeat(values.max(axis=1), 32))


def test_equal_values_are_found():
    same, all_same, flag = lanes(
        """
        and.b32 %r5, %i, 3;
        match.any.sync.b32 %r1, %r5, 0xFFFFFFFF;
        shr.u32 %r6, %i, 5;
        match.all.sync.b32 %r2|%p1, %r6, 0xFFFFFFFF;
        selp.u32 %r3, 1, 0, %p1;
        """,
        results=3,
    )
    np.testing.assert_array_equal(same, [0x11111111 << thread % 4 for thread in range(64)])
    assert (all_same == 0xFFFFFFFF).all()
    assert (flag == 1).all()


def test_parts_of_a_warp_meet():
    """Two halves of a warp at different instructions, each with its own mask; and a block with an incomplete warp."""
    (got,) = lanes(
        """
        setp.lt.u32 %p1, %i, 16;
        @%p1 bra $low;
        redux.sync.add.u32 %r1, %i, 0xFFFF0000;
        bra $end;
    $low:
        redux.sync.add.u32 %r1, %i, 0x0000FFFF;
    $end:
        """,
        threads=24,
    )
    np.testing.assert_array_equal(got, [sum(range(16))] * 16 + [sum(range(16, 24))] * 8)


def test_a_warp_barrier_orders_shared_memory():
    out = np.zeros(64, np.uint32)
    kernel = program(
        f"""
        {OWN_PLACE}
        st.shared.u32 [%rd1], %i;
        bar.warp.sync 0xFFFFFFFF;
        xor.b32 %r2, %i, 31;
        mov.u64 %rd3, kept;
        mad.wide.u32 %rd3, %r2, 4, %rd3;
        ld.shared.u32 %r1, [%rd3];
        st.global.u32 [%rd2], %r1;
        """,
        declarations=SHARED,
    )
    launch(kernel, [out], threads=(64, 1, 1))
    np.testing.assert_array_equal(out, np.arange(64) ^ 31)


def test_registers_and_local_memory_outlive_a_meeting():
    out = np.zeros((40, 2), np.float64)
    kernel = program("""
        .local .align 8 .b8 depot[16];
        mov.u64 %rd1, depot;
        cvt.rn.f64.u32 %fd1, %i;
        st.local.f64 [%rd1+8], %fd1;
        setp.gt.u32 %p1, %i, 20;
        add.cc.u32 %r1, %i, 0xFFFFFFF0;
        bar.sync 0;
        addc.u32 %r2, 0, 0;
        ld.local.f64 %fd2, [%rd1+8];
        @%p1 add.f64 %fd2, %fd2, %fd1;
        cvt.rn.f64.u32 %fd3, %r2;
        mad.wide.u32 %rd2, %i, 16, %out;
        st.global.v2.f64 [%rd2], {%fd2, %fd3};
    """)
    launch(kernel, [out], threads=(40, 1, 1))
    numbers = np.arange(40)
    np.testing.assert_array_equal(out.T, [np.where(numbers > 20, 2 * numbers, numbers), numbers >= 16])


# undefined behaviour on a GPU


def faults(
    body, message, *, threads=64, declarations=SHARED, arrays=None, parameters=("out",), blocks=1, shared_bytes=0
):
    arrays = [np.zeros(64, np.uint32)] if arrays is None else arrays
    kernel = program(f"{OWN_PLACE}\n{body}", declarations=declarations, parameters=parameters, name="some.kernel")
    with pytest.raises(PtxError, match=message) as raised:
        launch(kernel, arrays, (blocks, 1, 1), (threads, 1, 1), shared_bytes)
    assert re.match(
        r"some\.kernel, line \d+ of its PTX, '.*': thread \(\d+, 0, 0\) of block \(\d, 0, 0\) ", str(raised.value)
    )
    return str(raised.value)


def test_an_access_past_an_array():
    said = faults("st.global.u32 [%rd2], %i;", "accesses 4 bytes at 0x.*, 256 bytes into the 256 at 0x", threads=65)
    assert "'st.global.u32 [%rd2], %i': thread (64, 0, 0)" in said


def test_an_access_before_an_array():
    faults("ld.global.u32 %r1, [%out+-4];", "accesses 4 bytes at 0x.*, 4 bytes before the 256 bytes at 0x")


def test_a_vector_that_is_in_bounds_only_in_part():
    array = np.zeros(7, np.uint32)
    at = array.ctypes.data % 16
    faults(f"ld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%out+{32 - at - 16}];", "bytes into the 28 at", arrays=[array])


def test_a_null_pointer():
    faults("mov.u64 %rd3, 8;\nld.global.f64 %fd1, [%rd3];", "accesses 8 bytes at 0x8, where no memory is")


@pytest.mark.parametrize(
    ("space", "base", "offset"),
    [("global", "%out", 4), ("shared", "kept", 0), ("shared", "dynamic", 0), ("shared", "dynamic", 12)],
)
def test_misaligned_accesses(space, base, offset):
    """Variables are not more aligned than they are declared to be."""
    message = "accesses 8 bytes at 0x.*, which is not a multiple of 8"
    body = f"mov.u64 %rd3, {base};\nst.{space}.v2.u32 [%rd3+{offset}], {{%i, %i}};"
    declarations = SHARED + EXTERN.replace("16", "8" if offset else "4")
    faults(body, message, threads=1, declarations=declarations, shared_bytes=32)


@pytest.mark.parametrize("alignment", [4, 8, 16])
def test_dynamic_shared_memory_that_is_aligned_to_its_elements_is_not_moved_by_packs(alignment):
    body = "mov.u64 %rd3, dynamic;\nst.shared.v4.f32 [%rd3+16], {%f1, %f1, %f1, %f1};"
    declarations = SHARED + EXTERN.replace("16", str(alignment))
    if alignment == 16:
        kernel = program(f"mov.f32 %f1, 0f3F800000;\n{body}", declarations=declarations)
        launch(kernel, [np.zeros(1, np.uint32)], shared_bytes=32)
    else:
        faults(body, "which is not a multiple of 16", threads=1, declarations=declarations, shared_bytes=32)


def test_local_memory_out_of_bounds():
    body = ".local .align 4 .b8 depot[8];\nmov.u64 %rd3, depot;\nst.local.u32 [%rd3+8], %i;"
    faults(body, "accesses 4 bytes of its local memory at 8, past its bounds")


def test_shared_memory_out_of_bounds():
    faults("st.shared.u32 [%rd1], %i;", "accesses 4 bytes of shared memory at 260, past its bounds", threads=65)


def test_shared_memory_that_nobody_wrote():
    faults(
        "ld.shared.u32 %r1, [%rd1];", "reads 4 bytes of shared memory at 4, which no thread of the block has written"
    )


def test_shared_memory_that_another_block_wrote():
    body = """
        setp.eq.u32 %p1, %c, 0;
        @%p1 st.shared.u32 [kept], %i;
        ld.shared.u32 %r1, [kept];
    """
    said = faults(body, "which no thread of the block has written", threads=1, blocks=2)
    assert "of block (1, 0, 0)" in said


def test_two_threads_write_without_a_barrier_between():
    message = r"thread \(1, 0, 0\) .* writes 4 bytes of shared memory at 4, which thread \(0, 0, 0\) writes too"
    faults("st.shared.u32 [kept], %i;", message)


@pytest.mark.parametrize("first", ["st.shared.u32 [%rd1], %i;", "st.shared.u32 [%rd1], %i;\nbar.sync 0;"])
def test_a_barrier_that_is_missing_between_a_write_and_a_read(first):
    second = "st.shared.u32 [kept], %i;" if "bar" in first else "ld.shared.u32 %r1, [kept];"
    middle = "ld.shared.u32 %r1, [%rd1];" if "bar" in first else ""
    guard = "setp.eq.u32 %p1, %i, 1;\n@%p1 "
    message = (
        r"thread \(1, 0, 0\) .* accesses 4 bytes of shared memory at 4, of which thread \(0, 0, 0\) writes or reads"
    )
    if "bar" in first:
        message = r"thread \(1, 0, 0\) .* of which thread \(0, 0, 0\) writes or reads some, with no barrier between"
    faults(f"{first}\n{middle}\n{guard}{second}", message)


def test_a_warp_barrier_does_not_order_other_warps():
    body = """
        st.shared.u32 [%rd1], %i;
        bar.warp.sync 0xFFFFFFFF;
        setp.eq.u32 %p1, %i, 40;
        @%p1 ld.shared.u32 %r1, [kept];
    """
    faults(body, r"thread \(40, 0, 0\) .* of which thread \(0, 0, 0\) writes or reads some")


def test_a_barrier_in_divergent_code():
    body = """
        setp.lt.u32 %p1, %i, 32;
        @%p1 bra $low;
        bar.sync 0;
        bra $end;
    $low:
        bar.sync 0;
    $end:
    """
    faults(
        body,
        r"thread \(0, 0, 0\) .* waits at a barrier, while thread \(32, 0, 0\) waits at line \d+ of its PTX, 'bar",
    )


def test_a_barrier_that_some_threads_never_reach():
    body = "setp.gt.u32 %p1, %i, 50;\n@%p1 ret;\nbar.sync 0;"
    faults(body, r"waits at a barrier, while thread \(63, 0, 0\) has returned")


def test_a_shuffle_from_a_lane_that_takes_no_part():
    body = """
        setp.gt.u32 %p1, %i, 15;
        @%p1 bra $end;
        shfl.sync.down.b32 %r1, %i, 1, 31, 0x0000FFFF;
    $end:
    """
    faults(body, r"thread \(15, 0, 0\) .* takes a value from lane 16, which takes no part")


def test_a_shuffle_from_a_lane_that_has_returned():
    body = "setp.gt.u32 %p1, %i, 15;\n@%p1 ret;\nshfl.sync.down.b32 %r1, %i, 1, 31, 0xFFFFFFFF;"
    faults(body, r"thread \(15, 0, 0\) .* takes a value from lane 16, which takes no part")


def test_a_mask_without_the_lane_itself():
    faults(
        "vote.sync.any.pred %p1, 1, 0x0000FFFF;".replace("1, 0x", "%p2, 0x"),
        "waits for the lanes 0xffff, of which it is none itself",
    )


def test_lanes_that_wait_for_each_other_in_different_places():
    body = """
        setp.lt.u32 %p1, %i, 16;
        setp.eq.u32 %p2, %i, %i;
        @%p1 bra $low;
        vote.sync.any.pred %p3, %p2, 0xFFFFFFFF;
        bra $end;
    $low:
        redux.sync.add.u32 %r1, %i, 0xFFFFFFFF;
    $end:
    """
    faults(body, r"thread \(0, 0, 0\) .* waits in vain: thread \(16, 0, 0\) waits at line \d+ of its PTX, 'vote")


def test_a_trap():
    faults(
        "setp.eq.u32 %p1, %i, 5;\n@%p1 trap;", r"'@%p1 trap': thread \(5, 0, 0\) of block \(0, 0, 0\) ends by a trap"
    )
