"""Files of arrays that commands read: what can be mapped, and an error with the file and the reason for all else."""

import os
import struct
from contextlib import suppress

import numpy as np
import pytest

from ep.cli import npy
from ep.cli.parser import CommandError
from ep.common import file_locks

GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"


def file_of(text, data=bytes(24), version=(1, 0)):
    raw = text.encode("latin-1") if isinstance(text, str) else text
    form = "<H" if version == (1, 0) else "<I"
    return b"\x93NUMPY" + bytes(version) + struct.pack(form, len(raw)) + raw + data


def with_shape(shape):
    return file_of(GOOD.replace("(2, 3)", shape))


def with_descr(descr):
    return file_of(GOOD.replace("'<f4'", descr))


SHAPE = r"its shape is .*; it must be a tuple of integers that are not negative"
KEYS = "its header must have the keys descr, fortran_order, shape; it has"
BAD = {
    "nothing": (b"", "it does not begin as such a file does"),
    "text": (b"no array at all", "it does not begin as such a file does"),
    "only the magic": (b"\x93NUMPY", "its version is 0.0; versions 1.0 to 3.0 are known"),
    "a later version": (file_of(GOOD, version=(4, 0)), "its version is 4.0"),
    "no length": (file_of(GOOD)[:9], "it is cut short in its header"),
    "half a header": (file_of(GOOD)[:30], "it is cut short in its header"),
    "a long header": (file_of(GOOD + " " * 20_000), r"its header has 20,\d+ bytes"),
    "a huge length": (b"\x93NUMPY\2\0\xff\xff\xff\xff", "its header has 4,294,967,295 bytes"),
    "no dict": (file_of("(1, 2)"), f"{KEYS} tuple"),
    "no literal": (file_of("{'descr': open('x')}"), "its header is no dict of plain values"),
    "open brackets": (file_of("(" * 9000), "its header is no dict of plain values"),
    "binary": (file_of(bytes(range(256))), "its header is no dict of plain values"),
    "a key too few": (file_of("{'descr': '<f4', 'shape': (2, 3)}"), f"{KEYS} descr, shape"),
    "a key too many": (file_of(GOOD.replace("}", "'more': 1}")), f"{KEYS} descr, fortran_order, shape, more"),
    "no keys": (file_of("{}"), f"{KEYS} none"),
    "True": (with_shape("(True, 3)"), SHAPE),
    "False": (with_shape("(2, False)"), SHAPE),
    "negative": (with_shape("(-2, 3)"), SHAPE),
    "two that are negative": (with_shape("(-2, -3)"), SHAPE),
    "a float": (with_shape("(2.0, 3)"), SHAPE),
    "a text": (with_shape("('2', 3)"), SHAPE),
    "None": (with_shape("None"), SHAPE),
    "an integer": (with_shape("6"), SHAPE),
    "a list": (with_shape("[2, 3]"), SHAPE),
    "nested": (with_shape("((2, 3),)"), SHAPE),
    "too large": (
        with_shape("(20000000000000, 3)"),
        "it is cut short: its .* have 240,000,000,000,000 bytes, and 24 are",
    ),
    "beyond a word": (with_shape("(2, 36893488147419103232)"), "which is larger than any array"),
    "beyond a word together": (with_shape("(4294967296, 4294967296, 4294967296)"), "it is cut short"),
    "beyond a word beside 0": (with_shape("(0, 36893488147419103232)"), "which is larger than any array"),
    "of thousands of digits": (with_shape(f"(2, 1{'0' * 5000})"), "its header is no dict|larger than any array"),
    "many axes": (with_shape(f"({'1, ' * 65})"), "its shape has 65 axes"),
    "cut short": (
        file_of(GOOD, bytes(23)),
        r"it is cut short: its \(2, 3\) elements of float32 have 24 bytes, and 23 are",
    ),
    "without data": (file_of(GOOD, b""), "it is cut short"),
    "objects": (with_descr("'|O'"), "its elements are Python objects"),
    "an object in a record": (with_descr("[('a', '<f4'), ('b', '|O')]"), "its elements are Python objects"),
    "an unknown dtype": (with_descr("'<q9'"), "its descr is '<q9', which is no dtype"),
    "a number as dtype": (with_descr("3"), "its descr is 3, which is no dtype"),
    "a dtype of many bytes": (with_descr("'<V99999999999999'"), "which is no dtype|it is cut short"),
    "another fortran_order": (file_of(GOOD.replace("False", "0")), "its fortran_order is 0; it must be True or False"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_refused(tmp_path, case):
    contents, why = BAD[case]
    path = tmp_path / "x.npy"
    path.write_bytes(contents)
    with pytest.raises(CommandError, match=rf"x\.npy is no \.npy file that can be read: .*({why})"):
        npy.read(str(path))


def test_every_changed_byte_of_a_header(tmp_path):
    """A file is read, or refused by the one error; which it is depends on the byte."""
    contents, path = file_of(GOOD), tmp_path / "x.npy"
    for place in range(len(contents) - 24):
        for value in (0, 32, 39, 40, 45, 57, 76, 84, 123, 255):
            path.write_bytes(contents[:place] + bytes([value]) + contents[place + 1 :])
            with suppress(CommandError):
                assert npy.read(str(path)).nbytes <= 24


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (2, 3), (2, 1, 3), (1,) * 32])
def test_what_is_read(tmp_path, rng, version, order, shape):
    array = np.array(rng.integers(0, 100, shape), np.int16, order=order)
    path = tmp_path / "x.npy"
    with path.open("wb") as file:
        np.lib.format.write_array(file, array, version)
        file.write(b"more")
    found = npy.read(str(path))
    assert (found.shape, found.dtype) == (shape, np.int16)
    np.testing.assert_array_equal(found, array)


def test_headers_of_python_2(tmp_path):
    path = tmp_path / "x.npy"
    path.write_bytes(file_of(GOOD.replace("(2, 3)", "(2L, 3L)")))
    with pytest.warns(UserWarning, match="Python 2"):
        assert npy.read(str(path)).shape == (2, 3)


def test_what_killed_commands_have_left_is_removed(tmp_path):
    """Those of this result that are older than a minute, and that no process has locked."""
    left, new, other = (tmp_path / name for name in ("y.npy.1.partial", "y.npy.2.partial", "z.npy.1.partial"))
    locked = tmp_path / "y.npy.3.partial"
    for file in (left, new, other, locked):
        file.write_bytes(b"half")
    for file in (left, other, locked):
        os.utime(file, (1, 1))
    with locked.open("rb") as file:
        file_locks.locks(file.fileno())
        npy.write(npy.target(str(tmp_path / "y.npy")), np.ones(3))
        np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), 1)
        assert {*tmp_path.iterdir()} == {tmp_path / "y.npy", new, other, locked}
    npy.write(npy.target(str(tmp_path / "y.npy")), np.ones(3))
    assert not locked.exists()


def test_what_is_no_regular_file(tmp_path):
    with pytest.raises(CommandError, match=r"none\.npy cannot be read: No such file"):
        npy.read(str(tmp_path / "none.npy"))
    with pytest.raises(CommandError, match=r"cannot be read: Is a directory"):
        npy.read(str(tmp_path))
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.npy")
        with pytest.raises(CommandError, match=r"pipe\.npy cannot be read: it is no regular file"):
            npy.read(str(tmp_path / "pipe.npy"))
