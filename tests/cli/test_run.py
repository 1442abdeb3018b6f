"""`ep run`: each operator compared with NumPy, and errors that leave no files behind."""

import io
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from ep import DeviceManagerRegistry, DeviceType, ops
from ep.include.primitive import (
    BroadcastMatmulFactory,
    CastFactory,
    ConstantPadFactory,
    LogSoftmaxFactory,
    OneHotFactory,
    PermuteFactory,
    ReduceFactory,
    WhereFactory,
)
from ep.testing.keys import needs_one_of

BF16 = np.dtype(ml_dtypes.bfloat16)


@pytest.fixture
def run(ep, device):
    """A function that runs `ep run` on the device under test."""
    return lambda *arguments: ep("run", *arguments, "--device", device)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with some arrays."""
    rng = np.random.default_rng(3)
    monkeypatch.chdir(tmp_path)
    np.save("params.npy", rng.random((3, 11, 5), np.float32))
    np.save("indices.npy", rng.integers(0, 11, (3, 7), np.int32))
    np.save("wrong.npy", np.array([[0, 1], [-1, 2], [11, 3]]))
    np.save("x.npy", rng.standard_normal((4, 1, 5, 1), np.float32))
    np.save("f.npy", np.asfortranarray(rng.standard_normal((5, 4)).astype(np.float32)))
    np.save("bf16.npy", rng.standard_normal((4, 5)).astype(BF16))
    np.save("empty.npy", np.zeros((0, 3), np.float32))
    np.save("scalar.npy", np.float64(-2))
    np.save("objects.npy", np.array([1, "a"], object))
    (tmp_path / "garbled.npy").write_bytes(b"not an array at all")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "params.npy").read_bytes()[:200])
    return tmp_path


def test_gather(run, folder, device):
    done = run("gather", "--params", "params.npy", "--indices", "indices.npy", "--axis", 1, "--out", "out.npy")
    assert (done.code, done.err) == (0, "")
    expected = np.take(np.load("params.npy"), np.load("indices.npy"), axis=1)
    np.testing.assert_array_equal(np.load("out.npy"), expected)
    assert done.out.startswith("out.npy: float32, 3 x 3 x 7 x 5 (1.3 kB), computed in ")
    assert (", copied there and back in " in done.out) == (str(device) != "cpu")
    assert len(done.out.splitlines()) == 1


def test_operands_that_a_function_takes_by_name(run, folder):
    done = run("softmax_grad", "--y", "f.npy", "--dy", "f.npy", "--out", "out.npy")
    assert (done.code, done.err) == (0, "")
    x = np.load("f.npy").astype(np.float64)
    expected = (x - (x * x).sum(-1, keepdims=True)) * x
    np.testing.assert_allclose(np.load("out.npy"), expected, 1e-5, 1e-5)


def test_absent_device(ep, folder):
    if DeviceManagerRegistry.GetDeviceCount(DeviceType.kCUDA):
        pytest.skip("there is a CUDA device")
    done = ep("run", *GATHER, "--device", "cuda", "--out", "out.npy")
    assert done.code == 1
    assert done.err.startswith("ep run gather: error: there is no CUDA device: ")
    assert not (folder / "out.npy").exists()


def test_gather_of_batches(run, folder):
    options = ["--params", "params.npy", "--indices", "indices.npy", "--batch-dims", 1, "--out", "out.npy", "--quiet"]
    assert run("gather", *options) == (0, "", "")
    expected = np.take_along_axis(np.load("params.npy"), np.load("indices.npy")[:, :, None], axis=1)
    np.testing.assert_array_equal(np.load("out.npy"), expected)


@pytest.mark.parametrize("mode", ["clip", "zero"])
def test_gather_modes(run, folder, mode):
    options = ["--params", "params.npy", "--indices", "wrong.npy", "--axis", -2, "--mode", mode, "--out", "out.npy"]
    assert run("gather", *options).code == 0
    params, indices = np.load("params.npy"), np.load("wrong.npy")
    expected = np.take(params, indices, axis=1, mode="clip")
    if mode == "zero":
        expected[:, (indices < 0) | (indices >= 11)] = 0
    np.testing.assert_array_equal(np.load("out.npy"), expected)


MORE = {
    "cast": (["--x", "x.npy", "--dtype", "int16"], lambda load: load("x.npy").astype(np.int16), CastFactory),
    "cast to bfloat16": (
        ["--x", "x.npy", "--dtype", "bfloat16"],
        lambda load: load("x.npy").astype(BF16),
        CastFactory,
    ),
    "permute": (
        ["--x", "params.npy", "--axes=2,-3,1"],
        lambda load: load("params.npy").transpose(2, 0, 1),
        PermuteFactory,
    ),
    "pad": (
        ["--x", "f.npy", "--pad-width", "(1,2),(0,3)", "--constant-values", "-1.5"],
        lambda load: np.pad(load("f.npy"), ((1, 2), (0, 3)), constant_values=-1.5),
        ConstantPadFactory,
    ),
    "pad and crop": (
        ["--x", "f.npy", "--pad-width=((-1,0),(2,0))"],
        lambda load: np.pad(load("f.npy")[1:], ((0, 0), (2, 0))),
        ConstantPadFactory,
    ),
    "where": (
        ["--condition", "indices.npy", "--x", "3", "--y", "indices.npy"],
        lambda load: np.where(load("indices.npy"), np.int32(3), load("indices.npy")),
        WhereFactory,
    ),
    "matmul": (
        ["--x1", "empty.npy", "--transpose-x1", "--x2", "empty.npy"],
        lambda load: np.zeros((3, 3), np.float32),
        BroadcastMatmulFactory,
    ),
    "conv": (
        ["--x", "params.npy", "--w", "params.npy", "--pads", "1,2", "--strides", "2"],
        lambda load: ops.conv(load("params.npy"), load("params.npy"), strides=(2,), pads=(1, 2)),
        BroadcastMatmulFactory,
    ),
    "max": (
        ["--x", "params.npy", "--axis=0,-1", "--keepdims"],
        lambda load: load("params.npy").max(axis=(0, -1), keepdims=True),
        ReduceFactory,
    ),
    "sum along all axes": (
        ["--x", "indices.npy"],
        lambda load: load("indices.npy").sum(),
        ReduceFactory,
    ),
    "log_softmax": (
        ["--x", "f.npy", "--axis=0"],
        lambda load: ops.log_softmax(load("f.npy"), 0),
        LogSoftmaxFactory,
    ),
    "one_hot": (
        ["--indices", "wrong.npy", "--num-classes", "4", "--on-value", "0.5"],
        lambda load: 0.5 * (load("wrong.npy")[..., None] == np.arange(4)),
        OneHotFactory,
    ),
}


@pytest.mark.parametrize("what", [pytest.param(name, marks=needs_one_of(row[2])) for name, row in MORE.items()])
def test_against_numpy(run, folder, what):
    options, expected, _ = MORE[what]
    assert run(what.split()[0], *options, "--out", "out.npy", "--quiet") == (0, "", "")
    expected = expected(np.load)
    result = np.load("out.npy")
    result = result.view(BF16) if expected.dtype == BF16 else result
    assert result.dtype == expected.dtype
    # the expected log_softmax is the CPU's: the last bits of the device's exponential and logarithm may differ
    rtol = 4 * np.finfo(np.float32).eps if what == "log_softmax" else 0
    np.testing.assert_allclose(result, expected, rtol=rtol, atol=0)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["pad", "--x", "f.npy", "--pad-width", "1,2,3"], 1, "pad_width is (1, 2, 3); it must be an integer, a pair"),
        (
            ["pad", "--x", "f.npy", "--pad-width", "1", "--constant-values", "two"],
            2,
            "argument --constant-values: 'two' must be numbers",
        ),
        (["sum", "--x", "f.npy", "--axis", "1_"], 2, "argument --axis: '1_' must be numbers with commas between"),
        (["softmax", "--x", "f.npy", "--axis", "1,0"], 2, "argument --axis: '1,0' must be an integer"),
        (["slice", "--x", "f.npy", "--slices", "1:3,2"], 2, "'1:3,2' must be slices with commas between, such as 1:5"),
        (["cast", "--x", "x.npy", "--dtype", "flaot32"], 2, "'flaot32' is not a data type; did you mean 'float32'"),
        (["permute", "--x", "f.npy", "--axes", "0,0"], 1, "axes are (0, 0); each of the 2 axes of x"),
        (["where", "--condition", "x.npy", "--x", "1", "--y", "2"], 1, "condition has dtype float32; it must be bool"),
        (
            ["one_hot", "--indices", "x.npy", "--num-classes", "3"],
            1,
            "indices has dtype float32; it must be an integer",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_refusals_of_these(ep, folder, arguments, code, message):
    done = ep("run", *arguments, "--out", "out.npy")
    assert done.code == code
    assert message in done.err
    assert not (folder / "out.npy").exists()


def test_gather_wraps(run, folder):
    np.save("negative.npy", np.array([-1, 0, -11], np.int8))
    options = ["--params", "params.npy", "--indices", "negative.npy", "--axis", 1, "--mode", "wrap_negative"]
    assert run("gather", *options, "--out", "out.npy").code == 0
    np.testing.assert_array_equal(np.load("out.npy"), np.load("params.npy")[:, [-1, 0, -11]])


@pytest.mark.parametrize("size", [["--sizes=-1,3,5,2"], ["--sizes", "-1,3,5,2"], ["--sizes", "4,3,5,2"]])
def test_expand(run, folder, size):
    assert run("expand", "--x", "x.npy", *size, "--out", "out.npy").code == 0
    np.testing.assert_array_equal(np.load("out.npy"), np.broadcast_to(np.load("x.npy"), (4, 3, 5, 2)))


def test_repeat(run, folder):
    assert run("repeat", "--x", "x.npy", "--sizes", "2,1,3,2", "--out", "out.npy").code == 0
    np.testing.assert_array_equal(np.load("out.npy"), np.tile(np.load("x.npy"), (2, 1, 3, 2)))


def test_several_results(run, folder):
    done = run("split", "--x", "f.npy", "--indices-or-sections", "1,4", "--out", "part.npy")
    assert [line.partition(":")[0] for line in done.out.splitlines()] == [f"part.{number}.npy" for number in range(3)]
    for number, part in enumerate(np.split(np.load("f.npy"), [1, 4])):
        np.testing.assert_array_equal(np.load(f"part.{number}.npy"), part)
    done = run("split", "--x", "f.npy", "--indices-or-sections", "1,4", "--out", "-")
    assert (done.code, done.out) == (1, "")
    assert done.err.endswith("there are several results, and stdout takes one: name a file\n")


def test_several_inputs_and_slices(run, folder):
    assert run("concat", "--arrays", "f.npy", "f.npy", "--axis", "1", "--out", "out.npy").code == 0
    np.testing.assert_array_equal(np.load("out.npy"), np.concatenate([np.load("f.npy")] * 2, axis=1))
    assert run("slice", "--x", "f.npy", "--slices", "1:-1,::2", "--out", "out.npy").code == 0
    np.testing.assert_array_equal(np.load("out.npy"), np.load("f.npy")[1:-1, ::2])
    options = "--dy", "out.npy", "--shape", "5,4", "--slices", "1:-1,::2"
    assert run("slice_grad", *options, "--out", "out.npy").code == 0
    expected = np.zeros((5, 4), np.float32)
    expected[1:-1, ::2] = np.load("f.npy")[1:-1, ::2]
    np.testing.assert_array_equal(np.load("out.npy"), expected)


def test_unary(run, folder):
    assert run("relu", "--x", "x.npy", "--out", "out.npy").code == 0
    np.testing.assert_array_equal(np.load("out.npy"), np.maximum(np.load("x.npy"), 0))


def test_unary_with_attributes(run, folder):
    options = ["--threshold", 0.25, "--value", 9, "--x", "x.npy", "--out", "out.npy"]
    assert run("threshold", *options).code == 0
    x = np.load("x.npy")
    np.testing.assert_array_equal(np.load("out.npy"), np.where(x > 0.25, x, np.float32(9)))


@pytest.mark.parametrize("name", ["f.npy", "empty.npy", "scalar.npy"])
def test_unusual_arrays(run, folder, name):
    assert run("abs", "--x", name, "--out", "out.npy").code == 0
    out, expected = np.load("out.npy"), np.abs(np.load(name))
    np.testing.assert_array_equal(out, expected)
    assert out.dtype == expected.dtype
    assert out.shape == expected.shape


def test_binary(run, folder):
    assert run("add", "--x", "x.npy", "--y", "f.npy", "--out", "out.npy").code == 0
    np.testing.assert_array_equal(np.load("out.npy"), np.load("x.npy") + np.load("f.npy"))


def test_binary_with_a_number(run, folder):
    done = run("less_than", "--x", "-0.5", "--y", "f.npy", "--out", "out.npy")
    assert done.code == 0
    assert done.out.startswith("out.npy: bool, 5 x 4 (20 bytes)")
    np.testing.assert_array_equal(np.load("out.npy"), np.load("f.npy") > -0.5)


@pytest.mark.parametrize(
    "command",
    [
        ["relu", "--x", "bf16.npy"],
        ["maximum", "--x", "bf16.npy", "--y", "0"],
        ["expand", "--x", "bf16.npy", "--sizes", "2,4,5"],
    ],
)
def test_bfloat16(run, folder, command):
    done = run(*command, "--read-as", "bfloat16", "--out", "out.npy")
    assert done.code == 0
    assert "bfloat16" in done.out
    x = np.load("bf16.npy").view(BF16)
    expected = np.broadcast_to(x, (2, 4, 5)) if command[0] == "expand" else np.where(x > 0, x, BF16.type(0))
    raw = np.load("out.npy")
    assert raw.dtype == np.dtype("V2")
    np.testing.assert_array_equal(raw.view(BF16), expected)


def test_bfloat16_table(run, folder):
    options = ["--params", "bf16.npy", "--indices", "indices.npy", "--mode", "clip", "--read-as", "kBFloat16"]
    assert run("gather", *options, "--out", "out.npy").code == 0
    expected = np.take(np.load("bf16.npy").view(np.uint16), np.load("indices.npy"), axis=0, mode="clip")
    np.testing.assert_array_equal(np.load("out.npy").view(np.uint16), expected)


GATHER = ["gather", "--params", "params.npy", "--indices", "indices.npy"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gather", "--params", "no.npy", "--indices", "indices.npy"], "no.npy cannot be read: No such file or direct"),
        (["gather", "--params", ".", "--indices", "indices.npy"], ". cannot be read: Is a directory"),
        (["gather", "--params", "garbled.npy", "--indices", "indices.npy"], "garbled.npy is no .npy file that can be"),
        (["gather", "--params", "cut.npy", "--indices", "indices.npy"], "cut.npy is no .npy file that can be read"),
        (["gather", "--params", "objects.npy", "--indices", "indices.npy"], "objects.npy is no .npy file that can be"),
        (["gather", "--params", "params.npy", "--indices", "x.npy"], "indices has dtype float32"),
        (["gather", "--params", "params.npy", "--indices", "wrong.npy", "--axis", "1"], "; the axis holds 0 ... 10"),
        ([*GATHER, "--axis", "3"], "axis is 3"),
        ([*GATHER, "--mode", "clp"], "did you mean 'clip'"),
        ([*GATHER, "--read-as", "float64"], "params.npy holds float32, not float64"),
        (["expand", "--x", "x.npy", "--sizes", "4,3,6,2"], "x of shape (4, 1, 5, 1) has 5 there"),
        (["repeat", "--x", "x.npy", "--sizes", "4"], "sizes (4,) has fewer axes than x"),
        (["relu", "--x", "bf16.npy"], "2 bytes; if they are bfloat16, add --read-as bfloat16"),
        (["bitwise_not", "--x", "x.npy"], "bitwise_not takes bool, int8, uint8, int16"),
        (["add", "--x", "x.npy", "--y", "scalar.npy"], "float64"),
        (["add", "--x", "x.npy", "--y", "params.npy"], "(3, 11, 5)"),
    ],
)
def test_errors_leave_no_output(run, folder, arguments, message):
    before = set(os.listdir())
    done = run(*arguments, "--out", "out.npy")
    assert done.code == 1
    assert done.out == ""
    assert done.err.startswith(f"ep run {arguments[0]}: error: ")
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert set(os.listdir()) == before


def test_an_error_keeps_the_old_output(run, folder):
    np.save("out.npy", np.arange(3))
    assert run(*GATHER, "--axis", 9, "--out", "out.npy").code == 1
    np.testing.assert_array_equal(np.load("out.npy"), np.arange(3))


def test_a_failed_write_leaves_nothing(run, folder, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    before = set(os.listdir())
    monkeypatch.setattr(np.lib.format, "write_array", full)
    done = run(*GATHER, "--axis", 1, "--out", "out.npy")
    assert done.code == 1
    assert done.err.endswith("out.npy cannot be written: No space left on device\n")
    assert set(os.listdir()) == before


@pytest.mark.parametrize(("out", "message"), [("no/out.npy", "there is no folder"), (".", "it is a folder")])
def test_places_that_take_no_output(run, folder, out, message):
    done = run(*GATHER, "--out", out)
    assert done.code == 1
    assert message in done.err


def test_output_to_stdout(folder):
    """Only the array goes to stdout; messages go to stderr."""
    arguments = ["run", "relu", "--x", "f.npy", "--out", "-"]
    done = subprocess.run([sys.executable, "-m", "ep", *arguments], capture_output=True, check=False)
    assert done.returncode == 0
    np.testing.assert_array_equal(np.load(io.BytesIO(done.stdout)), np.maximum(np.load("f.npy"), 0))
    assert done.stderr.startswith(b"stdout: float32, 5 x 4 (80 bytes), computed in ")
    assert not os.path.exists("-")


def test_no_array_is_written_to_a_terminal(ep, folder, monkeypatch):
    monkeypatch.setattr("ep.cli.text.is_terminal", lambda: True)
    done = ep("run", "relu", "--x", "x.npy", "--out", "-")
    assert done.code == 1
    assert done.err == (
        "ep run relu: error: stdout is a terminal, which no array is written to: redirect it, or name a file\n"
    )


def test_output_to_what_is_no_file(run, folder):
    """It is written directly, and not replaced by a file."""
    done = run("relu", "--x", "x.npy", "--out", "/dev/null")
    assert (done.code, done.err) == (0, "")
    assert not os.path.isfile("/dev/null")
    os.mkfifo("pipe")
    reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE)
    assert run("relu", "--x", "x.npy", "--out", "pipe").code == 0
    np.testing.assert_array_equal(np.load(io.BytesIO(reader.communicate()[0])), np.maximum(np.load("x.npy"), 0))
    if os.path.exists("/dev/full"):
        done = run("relu", "--x", "x.npy", "--out", "/dev/full")
        assert done.err == "ep run relu: error: /dev/full cannot be written: No space left on device\n"


def test_output_may_replace_the_input(run, folder):
    x = np.load("x.npy")
    assert run("relu", "--x", "x.npy", "--out", "x.npy").code == 0
    np.testing.assert_array_equal(np.load("x.npy"), np.maximum(x, 0))


def test_output_through_a_link(run, folder):
    os.symlink("target.npy", "link.npy")
    assert run("relu", "--x", "x.npy", "--out", "link.npy").code == 0
    assert os.path.islink("link.npy")
    assert np.load("target.npy").shape == (4, 1, 5, 1)


def test_arrays_are_collected(run, folder):
    for words in (
        ("--arrays", "params.npy", "params.npy", "--arrays", "params.npy"),
        ("--arrays", "params.npy", "--arrays", "params.npy", "--arrays=params.npy"),
    ):
        done = run("concat", *words, "--axis", 0, "--out", "joined.npy")
        assert (done.code, done.err) == (0, "")
        np.testing.assert_array_equal(np.load("joined.npy"), np.concatenate([np.load("params.npy")] * 3))
