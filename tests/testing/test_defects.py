"""Deliberate defects of a device: for each, a test of the suite must fail that passes without the defect."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.subprocesses import SOURCES

PRIMITIVE, DEVICE = "ep.testing.primitive.test_", "ep.testing.device_layer.test_"
BUFFERS = "TestRefusals and test_buffers"

DEFECTS = {
    "buffers": {
        "a dst that is not C-contiguous is taken, and the result lost": (
            "host_buffers",
            "    if not buffer.flags.c_contiguous:",
            "    if not written and not buffer.flags.c_contiguous:",
            PRIMITIVE + "fill",
            BUFFERS,
        ),
        "a src that is not C-contiguous is taken": (
            "host_buffers",
            "    if not buffer.flags.c_contiguous:",
            "    if written and not buffer.flags.c_contiguous:",
            PRIMITIVE + "expand",
            BUFFERS,
        ),
        "a dst that is read-only is written": (
            "host_buffers",
            '        raise ArgumentValueError(argument, "is read-only")',
            "        buffer.flags.writeable = True",
            PRIMITIVE + "elementwise_unary",
            BUFFERS,
        ),
        "a stream of another device is taken": (
            "host_device",
            "if not isinstance(stream, HostStream) or stream.device_type() is not device_type:",
            "if not isinstance(stream, Stream):",
            PRIMITIVE + "gather",
            "TestRefusals and test_streams",
        ),
        "another dtype of the same size is taken": (
            "host_buffers",
            "buffer_checks.check_dtype(argument, buffer.dtype, data_type)",
            "buffer = buffer.view(f'V{buffer.itemsize}').view(data_type.dtype)",
            PRIMITIVE + "elementwise_unary",
            BUFFERS,
        ),
        "a buffer that is too small is taken": (
            "host_buffers",
            "    buffer_checks.check_size(argument, buffer.size, num_elements)\n",
            "",
            PRIMITIVE + "elementwise_unary",
            BUFFERS,
        ),
        "memory that overlaps is taken": (
            "host_buffers",
            "    buffer_checks.check_overlap(*ranges, in_place=in_place)",
            "    pass",
            PRIMITIVE + "elementwise_unary",
            "test_overlap",
        ),
        "the very same memory is refused": (
            "primitives",
            "in_place=src_type.itemsize == dst_type.itemsize",
            "in_place=False",
            PRIMITIVE + "elementwise_unary",
            "test_in_place",
        ),
        "no elements are an error": (
            "host_buffers",
            "    buffer_checks.check_size(argument, buffer.size, num_elements)\n",
            "    buffer_checks.check_size(argument, buffer.size, max(num_elements, 1))\n",
            PRIMITIVE + "elementwise_unary",
            "test_zero_elements",
        ),
        "the part that is not used is written": (
            "primitives",
            "        dst[...] = number\n",
            "        (dst if dst.base is None else dst.base)[...] = number\n",
            PRIMITIVE + "fill",
            "test_a_part_of_a_buffer",
        ),
    },
    "moves": {
        "negative indices of gather wrap": (
            "primitives",
            "inside = (indices >= offset)",
            "inside = (indices >= offset - gather)",
            PRIMITIVE + "gather",
            "test_every_key",
        ),
        "offset is left out": (
            "primitives",
            "        _, outer, gather, inner, count, offset = sizes\n",
            "        _, outer, gather, inner, count, offset = sizes\n        offset = 0\n",
            PRIMITIVE + "gather",
            "test_shards_add_up",
        ),
        "index less offset wraps around": (
            "primitives",
            "        inside = (indices >= offset) & (indices < offset + gather)\n",
            "        with np.errstate(all='ignore'):\n"
            "            near = indices - np.array(offset).astype(indices.dtype)\n"
            "        inside = (near >= 0) & (near < gather)\n",
            PRIMITIVE + "gather",
            "test_extreme_indices",
        ),
        "no rows at all are an error": (
            "primitives",
            "        rows = [int(index)",
            "        indices[0]\n        rows = [int(index)",
            PRIMITIVE + "gather",
            "test_zero_sizes",
        ),
        "rows outside keep what was there": (
            "primitives",
            "        out[...] = 0\n",
            "",
            PRIMITIVE + "gather",
            "test_every_key",
        ),
        "strides of src are left out": (
            "primitives",
            "[stride * array.itemsize for stride in strides]",
            "[abs(stride) % 16 * array.itemsize for stride in strides]",
            PRIMITIVE + "expand",
            "test_permuted_strides",
        ),
        "more keys are registered than there are": (
            "primitives",
            "class NumpyGather(Gather):\n",
            "class NumpyGather(Gather):\n"
            "    def __new__(cls, request):\n"
            "        return super().__new__(cls) if request.dtypes[0] is DataType.kFloat else None\n\n",
            PRIMITIVE + "keys",
            "test_every_registered_key_is_served",
        ),
        "the number that pads is cut to a byte": (
            "more",
            'convert_value(pad_val, data_type, "pad_val")',
            "np.float64(pad_val).astype(data_type.dtype)",
            PRIMITIVE + "constant_pad",
            "test_numbers",
        ),
        "negative padding pads": (
            "more",
            "as_pad_shape(src_dims, padding_before, padding_after)",
            "as_pad_shape(src_dims, [abs(size) for size in padding_before], padding_after)",
            PRIMITIVE + "constant_pad",
            "test_any_padding",
        ),
        "a byte of 256 is taken": (
            "more",
            'as_byte(value, "value")',
            "int(value) % 256",
            PRIMITIVE + "memset",
            "TestRefusals and test_values",
        ),
        "bytes are counted as elements": (
            "more",
            "dst.view(np.uint8)[:count]",
            "dst.view(np.uint8)[: count * dst.itemsize]",
            PRIMITIVE + "memset",
            "test_elements_of_any_type",
        ),
    },
    "scatters": {
        "the first one of several rows stays": (
            "more",
            "for b, i in np.ndindex(batch, number) if",
            "for b, i in [*np.ndindex(batch, number)][::-1] if",
            PRIMITIVE + "batch_scatter",
            "test_the_last_row_stays",
        ),
        "negative indices of a scatter wrap": (
            "more",
            "if 0 <= target < places:",
            "if -places <= target < places:",
            PRIMITIVE + "batch_scatter",
            "test_every_key",
        ),
        "the offset of a scatter is left out": (
            "more",
            "int(indices[b * number + i]) - offset",
            "int(indices[b * number + i])",
            PRIMITIVE + "batch_scatter",
            "test_every_key",
        ),
        "rows of 16-bit numbers are rounded each time": (
            "more",
            "out.astype(np.float32 if data_type is HALF else out.dtype)",
            "out.copy()",
            PRIMITIVE + "batch_scatter",
            "test_many_rows_of_one_place",
        ),
        "rows that no index names become 0": (
            "more",
            "        total = out.astype(",
            "        out *= np.isin(np.arange(out.size).reshape(out.shape) // max(inner, 1) % max(places, 1), "
            "indices - offset)\n        total = out.astype(",
            PRIMITIVE + "batch_scatter",
            "test_every_key",
        ),
        "updates may overlap what is written": (
            "more",
            '        check_disjoint(out, "out", updates, "updates")\n',
            "",
            PRIMITIVE + "batch_scatter",
            "TestRefusals and test_overlap",
        ),
    },
    "arithmetic": {
        "NaN becomes 0": (
            "primitives",
            "np.where(x <= 0, x.dtype.type(0), x)",
            "np.where(x > 0, x, x.dtype.type(0))",
            PRIMITIVE + "elementwise_unary",
            "test_every_key",
        ),
        "16-bit numbers are cut, not rounded": (
            "more",
            "dst[...] = convert(src, dst.dtype)",
            "cut = src.view(np.uint32) & 0xFFFF0000 if dst.itemsize == 2 else src\n"
            "        dst[...] = convert(cut.view(np.float32), dst.dtype)",
            PRIMITIVE + "cast",
            "test_every_key",
        ),
        "numbers too large for an integer wrap": (
            "more",
            "dst[...] = convert(src, dst.dtype)",
            "dst[...] = convert(src, np.dtype(np.int64) if dst.dtype == np.int8 else dst.dtype).astype(dst.dtype)",
            PRIMITIVE + "cast",
            "test_every_key",
        ),
        "integers do not wrap": (
            "more",
            "            dst[...] = total.astype(dst.dtype)",
            "            if dst.dtype == np.int8:\n"
            "                total = np.clip(sum(x.astype(int) for x in srcs), -128, 127)\n"
            "            dst[...] = total.astype(dst.dtype)",
            PRIMITIVE + "add",
            "test_integers_wrap",
        ),
        "16-bit sums are rounded each time": (
            "more",
            "srcs[0].astype(np.float32 if data_type is HALF else dst.dtype)",
            "srcs[0].copy()",
            PRIMITIVE + "add",
            "test_narrow_floats",
        ),
        "NaN does not spread in max": (
            "more",
            "np.max(src",
            "np.fmax.reduce(src",
            PRIMITIVE + "reduce",
            "test_not_a_number",
        ),
        "the largest of nothing is 0": (
            "more",
            "check_reduces_something(ReduceOp.kMax, shape)",
            "src_count or dst.fill(0)",
            PRIMITIVE + "reduce",
            "test_nothing_to_reduce",
        ),
        "a beta of 0 spreads NaN": ("more", "if beta != 0:", "if True:", PRIMITIVE + "matmul", "test_what_a_zero"),
        "an alpha of 0 reads a and b": ("more", "if alpha != 0:", "if True:", PRIMITIVE + "matmul", "test_what_a_zero"),
        "no terms leave c as it is": (
            "more",
            "        options = self.request.options\n",
            "        if k == 0:\n            return\n        options = self.request.options\n",
            PRIMITIVE + "matmul",
            "test_products_of_no_terms",
        ),
        "16-bit products are summed in 16 bits": (
            "more",
            "np.matmul(a.astype(np.float32), b.astype(np.float32))",
            "np.cumsum(a[:, :, None] * b, 1, a.dtype)[:, -1]",
            PRIMITIVE + "matmul",
            "test_narrow_floats",
        ),
        "b is never transposed": (
            "more",
            'options["transpose_b"] is T',
            "False",
            PRIMITIVE + "matmul",
            "test_every_key",
        ),
        "products overlap a": (
            "more",
            '        check_disjoint(c, "c", a, "a")\n',
            "",
            PRIMITIVE + "matmul",
            "test_overlap",
        ),
    },
    "device": {
        "a copy to the host is the memory that later work writes": (
            "host_arrays",
            'return self.as_buffer(array, "array").copy()',
            'return self.as_buffer(array, "array")',
            DEVICE + "asynchronous",
            "test_a_copy_that_has_begun",
        ),
        "numa_node_affinity is ignored": (
            "host_device",
            "if options.HasNumaNodeAffinity():",
            "if False:",
            DEVICE + "memory",
            "test_options_that_no_device",
        ),
        "memory is used again while a part of it lives": (
            "host_device",
            "block = np.empty(size + kMaxAlignmentRequirement, np.uint8)",
            "blocks = globals().setdefault('_blocks', {})\n"
            "    block = blocks.setdefault(size, np.empty(size + kMaxAlignmentRequirement, np.uint8))",
            DEVICE + "memory",
            "test_size_and_alignment",
        ),
        "sizes are rounded up": (
            "host_device",
            "return block[start : start + size]",
            "return block[start : start + (size + 7) // 8 * 8]",
            DEVICE + "memory",
            "test_size_and_alignment",
        ),
        "anything is freed": (
            "host_device",
            "        if not isinstance(buffer, np.ndarray):",
            "        if False:",
            DEVICE + "memory",
            "test_only_buffers",
        ),
        "a negative size is none": (
            "host_device",
            'return as_size(size, "size")',
            "return max(int(size), 0)",
            DEVICE + "memory",
            "test_sizes_that_are_none",
        ),
        "all device numbers are 0": (
            "indexed_devices",
            "if not 0 <= index < count:",
            "if False:",
            DEVICE + "manager",
            "test_indices_of_no_device",
        ),
        "an event is never done": (
            "host_device",
            "    def QueryDone(self) -> bool:\n        return True\n",
            "    def QueryDone(self) -> bool:\n        return self._recorded_at is not None\n",
            DEVICE + "streams",
            "test_events",
        ),
        "anything is an event": (
            "host_device",
            "if not isinstance(event, HostEvent) or event.device_type is not device_type:",
            "if False:",
            DEVICE + "streams",
            "test_what_is_no_event",
        ),
        "there is one stream": (
            "host_device",
            "return HostStream(self)",
            "return self.__dict__.setdefault('_stream', HostStream(self))",
            DEVICE + "streams",
            "test_a_stream_knows",
        ),
    },
}
"""By part: what is wrong, the module, the text that is replaced and by what, and the tests that must fail."""

ASYNCHRONOUS = {
    "WaitEvent does nothing": (
        "device",
        "        if stream is not None:\n            self.queue(lambda: stream.run(number))\n",
        "",
        DEVICE + "asynchronous",
        "test_a_stream_waits",
    ),
    "an event is always done": (
        "device",
        "        if stream is None or stream._num_done >= number:\n            return True\n",
        "        return True\n",
        DEVICE + "asynchronous",
        "test_an_event_is_done",
    ),
    "an event is never done by itself": (
        "device",
        "        stream.run(min(stream._num_done + 1, number))  # the device goes on while somebody asks\n",
        "",
        DEVICE + "asynchronous",
        "test_an_event_is_done",
    ),
    "Sync of an event does not wait": (
        "device",
        "        if stream is not None:\n            stream.run(number)\n",
        "",
        DEVICE + "asynchronous",
        "test_waiting_for_an_event",
    ),
    "an event is of the work before the last": (
        "device",
        "check_event(event).mark(self, self.flush())",
        "check_event(event).mark(self, self.flush() - 1)",
        DEVICE + "asynchronous",
        "test_waiting_for_an_event",
    ),
    "work is not submitted before another stream waits for it": (
        "device",
        "check_event(event).mark(self, self.flush())",
        "check_event(event).mark(self, self._num_done + len(self._queued))",
        DEVICE + "asynchronous",
        "test_a_stream_waits",
    ),
    "a copy from the host reads the array later": (
        "memory",
        'self.elements("buffer"), np.array(array)',
        'self.elements("buffer"), array',
        DEVICE + "asynchronous",
        "test_an_array_may_change",
    ),
    "a copy to the host does not wait": (
        "memory",
        "        stream.Sync()\n",
        "",
        DEVICE + "asynchronous",
        "test_a_copy_to_the_host",
    ),
    "a copy to the host waits if it is small": (
        "memory",
        "        stream.Sync()\n",
        "        if self.nbytes <= 64:\n            stream.Sync()\n",
        DEVICE + "asynchronous",
        "test_a_copy_to_the_host",
    ),
    "a copy to a part of a buffer is done at once": (
        "memory",
        "        stream.queue(lambda: np.copyto(elements, array))\n",
        "        whole = elements.nbytes == len(self.block.bytes)\n"
        "        stream.queue(lambda: np.copyto(elements, array)) if whole else np.copyto(elements, array)\n",
        DEVICE + "asynchronous",
        "test_an_array_may_change",
    ),
    "an event keeps its first work": (
        "device",
        "        self.recorded = stream, number\n",
        "        if self.recorded[0] is None:\n            self.recorded = stream, number\n",
        DEVICE + "asynchronous",
        "test_an_event_is_of_the_work",
    ),
    "WaitEvent waits for what the event records later": (
        "device",
        "        stream, number = check_event(event).recorded\n"
        "        if stream is not None:\n            self.queue(lambda: stream.run(number))\n",
        "        check_event(event)\n        self.queue(lambda: event.recorded[0].run(event.recorded[1]))\n",
        DEVICE + "asynchronous",
        "test_an_event_is_of_the_work",
    ),
    "DestroyStream drops work": (
        "device",
        "        check_stream(stream).Sync()\n",
        "        check_stream(stream)._queued.clear()\n",
        DEVICE + "asynchronous",
        "test_the_work_of_a_stream",
    ),
    "freed memory is used": (
        "memory",
        "        if self.block.is_freed:\n",
        "        if False:\n",
        DEVICE + "asynchronous",
        "test_freed_memory",
    ),
    "memory that is freed is lost": (
        "memory",
        "self._finalizer = weakref.finalize(self, memory.give_back, array, size)",
        "self._finalizer = lambda: None",
        DEVICE + "asynchronous",
        "test_memory_that_is_freed",
    ),
    "stream-ordered memory that is freed is lost": (
        "device",
        "        self.Sync()\n        block.free()\n",
        "        self.__dict__.setdefault('_lost', []).append(block)\n",
        DEVICE + "asynchronous",
        "test_memory_that_is_freed",
    ),
    "stream-ordered memory is freed before the work on it": (
        "device",
        "        self.Sync()\n        block.free()\n",
        "        block.free()\n",
        DEVICE + "asynchronous",
        "test_stream_ordered_memory_is_freed_after",
    ),
    "two threads set the arguments of one kernel": (
        "primitives",
        "        with self.kernel.lock:\n",
        "        if True:\n",
        DEVICE + "asynchronous",
        "test_threads_launch",
    ),
}
"""The same for a device whose work is done later, `ep_queued_device`."""


@pytest.mark.ep_long
@pytest.mark.parametrize("part", DEFECTS)
def test_each_defect_is_caught(example, part):
    package = example.folder / "ep_numpy_device"
    (package / "more.py").write_text((Path(__file__).parent / "more_primitives.py").read_text())
    example.take_in()
    check(package, DEFECTS[part])


@pytest.mark.ep_long
def test_each_defect_of_an_asynchronous_device_is_caught(tmp_path):
    name = "ep_queued_device"
    shutil.copytree(Path(__file__).parent / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    check(tmp_path / name, ASYNCHRONOUS)


def check(package, defects):
    defects = [[what, *defect] for what, defect in defects.items()]
    done = subprocess.run(
        [sys.executable, "-m", "tests.testing.run_defects", package.parent, package.name],
        input=json.dumps(defects),
        cwd=SOURCES,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    without, *codes = json.loads(done.stdout.splitlines()[-1])
    assert without == 0, f"the device without defects does not pass\n{done.stdout}\n{done.stderr}"
    missed = [what for (what, *_), code in zip(defects, codes, strict=True) if code != 1]
    assert not missed, f"{missed}\n{done.stderr}"


def test_there_are_many():
    assert sum(map(len, DEFECTS.values())) >= 40
