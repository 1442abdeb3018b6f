"""Common properties of all commands: dispatch, exit codes, closed streams and interrupts."""

import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import warnings

import pytest

import ep as package
from ep.cli import demo
from ep.cli.main import COMMANDS, main
from ep.common.environment import VARIABLES
from ep.include import DeviceManagerRegistry
from tests.include.conftest import toy as toy
from tests.include.toy import ToyManager
from tests.subprocesses import read_terminal

EP = (sys.executable, "-W", "error", "-m", "ep")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}


def test_help(ep):
    assert ep() == ep("--help") == ep("-h") == ep("help")
    done = ep()
    assert done.code == 0
    assert done.err == ""
    assert all(f"\n  {name}" in done.out for name in COMMANDS)
    variables = ep("help", "variables")
    assert (variables.code, variables.err) == (0, "")
    assert all(f"\n{variable.name} " in f"\n{variables.out}" for variable in VARIABLES)


@pytest.mark.parametrize("arguments", [("help",), ("run", "--help"), ("list", "--help"), ("onnx", "--help")])
def test_help_is_a_screen(ep, monkeypatch, arguments):
    monkeypatch.setenv("COLUMNS", "80")
    lines = ep(*arguments).out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


def test_help_of_an_operator_describes_it_and_what_all_have(ep):
    out = ep("run", "gather", "--help").out
    for words in ("that `indices` selects", "--batch-dims N", "mpiexec -n 4", "--read-as bfloat16", "part.0.npy"):
        assert words in out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_commands(ep, command):
    done = ep(command, "--help")
    assert done.code == 0
    assert done.out.startswith(f"usage: ep {command}")
    assert ep("help", command) == done


def test_help_of_a_part_of_a_command(ep):
    assert ep("help", "run", "gather") == ep("run", "gather", "--help")
    assert ep("help", "run", "gather").out.startswith("usage: ep run gather")


def test_version(ep):
    assert ep("--version") == ep("-V") == (0, f"ep {package.__version__}\n", "")


@pytest.mark.parametrize("closed", ["1", "1 2", "0 1", "0 1 2"])
def test_closed_streams(closed):
    """Output that cannot be printed is a failure, with one line on stderr if there is one."""
    command = " ".join([*map(shlex.quote, (*EP, "list")), *(f"{number}>&-" for number in closed.split())])
    done = subprocess.run(["sh", "-c", command], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == ("" if "2" in closed else "ep: error: [Errno 9] Bad file descriptor\n")


def test_closed_stderr_sends_no_errors_to_stdout():
    command = " ".join([*map(shlex.quote, (*EP, "lst")), "2>&-"])
    done = subprocess.run(["sh", "-c", command], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lst"], "ep: error: there is no command 'lst'; did you mean 'list'?"),
        (["zzz"], "ep: error: there is no command 'zzz'; the commands are demo, list,"),
        (["--verbose"], "ep: error: there is no option '--verbose'"),
        (["list", "--pimitive", "Gather"], "ep list: error: there is no argument --pimitive Gather; did you mean '--p"),
        (["list", "gather"], "ep list: error: there is no argument gather; did you mean '--primitive gather'?"),
        (["list", "FastGelu"], "did you mean '--op FastGelu'?"),
        (["list", "float32", "relu"], "did you mean '--dtype float32'?"),
        (["list", "json"], "did you mean '--format json'?"),
        (["bench", "matmul"], "did you mean '--primitive matmul'?"),
        (["bench", "small"], "did you mean '--size small'?"),
        (["demo", "cuda"], "did you mean '--device cuda'?"),
        (["cache", "warm", "gather"], "ep cache warm: error: there is no argument gather; did you mean '--primitive"),
        (["list", "gathr"], "no argument gathr; the options are --primitive, --op, --dtype, --device, --format"),
        (["list", "--op", "rellu"], "ep list: error: argument --op: 'rellu' is not an op; did you mean 'kRelu'"),
        (["list", "--primitive", "gathr"], "'gathr' is not a primitive; did you mean 'Gather'"),
        (["list", "--dtype", "flaot32"], "'flaot32' is not a data type; did you mean 'float32'"),
        (["list", "--device", "cppu"], "'cppu' is not a device type; did you mean 'cpu'"),
        (["list", "--device", "zzz"], "'zzz' is not a device type; it is one of cpu, cuda"),
        (["list", "--format", "jsn"], "argument --format: 'jsn' is unknown; did you mean 'json'"),
        (["list", "--op", "no_such"], "ep list: error: argument --op: 'no_such' is not an op\n"),
        (["run", "threshold", "--x", "x.npy"], "the following arguments are required: --threshold, --value, --out"),
        (
            ["run", "cast", "--dtype", "flaot32"],
            "argument --dtype: 'flaot32' is not a data type; did you mean 'float32'",
        ),
        (["show", "nothing"], "implemented are Add, ArgSort, BatchGather, "),
        (["show", "nothing"], "; contracts alone are "),
        (["show", "unary"], "did you mean 'BroadcastElementwiseUnary' or 'ElementwiseUnary'?"),
        (["help", "lst"], "ep: error: there is no command 'lst'; did you mean 'list'?"),
        (["cache", "warm", "--jobs", "1_0"], "argument --jobs: '1_0' must be a number of processes"),
        (["cache", "warm", "--jobs", "\u0663"], "must be a number of processes from 1 to 1024, in digits alone"),
        (["show"], "ep show: error: the following arguments are required: primitive"),
        (["run"], "ep run: error: the following arguments are required: OPERATOR"),
        (
            ["run", "concatenate"],
            "ep run: error: argument OPERATOR: 'concatenate' is not an operator; did you mean 'concat'?",
        ),
        (["run", "gathr"], "ep run: error: argument OPERATOR: 'gathr' is not an operator; did you mean 'gather'"),
        (["run", "expand", "--siezs", "1"], "ep run expand: error: "),
        (
            ["run", "expand", "--sizes", "1,x"],
            "ep run expand: error: argument --sizes: '1,x' must be numbers with commas between, such as -1,3,5",
        ),
        (["cache", "wram"], "ep cache: error: argument ACTION: 'wram' is unknown; did you mean 'warm'"),
        (["cache", "warm", "--jobs", "0"], "argument --jobs: '0' must be a number of processes from 1 to 1024"),
        (["bench", "--size", "huge"], "argument --size: 'huge' is unknown; it is one of small, medium, large"),
    ],
)
def test_wrong_usage(ep, arguments, message):
    done = ep(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert message in done.err
    assert len(done.err.splitlines()) <= 2


def test_absent_device(ep, toy):
    for command in ("bench", "demo"):
        done = ep(command, "--device", "toy")
        assert done.code == 1
        assert f"ep {command}: error: no installed package provides devices of type 'toy'" in done.err
    DeviceManagerRegistry.RegisterDeviceManagerFactory(toy, ToyManager)
    done = ep("demo", "--device", "toy")
    assert (done.code, done.err) == (1, "ep demo: error: no toy device was found\n")


def test_interrupt(capsys, monkeypatch):
    def interrupted(arguments: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run", interrupted)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


# short sleeps: a signal that arrives after Python's last check, just before a sleep, does not end that sleep
RUNS_UNTIL_INTERRUPTED = """
import sys, time
from ep.cli import demo
from ep.cli.main import main
def run(arguments):
    print("running", flush=True)
    while True:
        time.sleep(0.01)
demo.run = run
sys.exit(main(["demo"]))
"""


def test_interrupt_from_outside():
    process = subprocess.Popen(
        [sys.executable, "-c", RUNS_UNTIL_INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    assert process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate() == ("", "interrupted\n")
    assert process.returncode == 130


def test_reader_that_goes_away():
    process = subprocess.Popen([*EP, "list"], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() in (0, 141)  # 0 if the pipe held the whole output


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has it")
def test_full_disk():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*EP, "list"], env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "ep: error: [Errno 28] No space left on device\n"


def test_warnings_are_one_line(ep, monkeypatch):
    def warns(arguments: object) -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("the disk is slow", stacklevel=1)
        return 0

    monkeypatch.setattr(demo, "run", warns)
    assert ep("demo") == (0, "", "ep: warning: the disk is slow\n")


def terminal(*arguments: str, **environment: str) -> str:
    """Return the output of `ep` on a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*EP, *arguments], env={**ENVIRONMENT, "TERM": "xterm-256color", **environment}, stdin=theirs, stdout=theirs
    )
    os.close(theirs)
    printed = read_terminal(ours)
    assert process.wait() == 0
    return printed


def test_terminal_has_colours():
    printed = terminal("devices", COLUMNS="80")
    assert "\x1b[36mcpu:0" in printed
    lines = re.sub("\x1b\\[[0-9;]*m", "", printed).splitlines()
    assert max(map(len, lines)) == 80


def test_no_color():
    assert "\x1b[3" not in terminal("devices", NO_COLOR="1")


def test_pipe_is_plain_and_whole():
    done = subprocess.run([*EP, "list"], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout
    gather = next(line for line in done.stdout.splitlines() if line.startswith("Gather "))
    assert gather.endswith("kUInt64")
    assert len(gather) > 80


ONE_VALUE = [
    ("run", "relu", "--x", "a.npy", "--x", "b.npy", "--out", "y.npy"),
    ("run", "relu", "--x", "a.npy", "--out", "y.npy", "--out", "z.npy"),
    ("run", "softmax", "--x", "a.npy", "--axis", "0", "--axis", "1", "--out", "y.npy"),
    ("run", "relu", "--x", "a.npy", "--out", "y.npy", "--device", "cpu", "--device=cpu"),
    ("run", "relu", "--x", "a.npy", "--out", "y.npy", "--read-as", "bfloat16", "--read-as", "float16"),
    ("run", "relu", "--x", "a.npy", "--out", "y.npy", "--mesh", "2", "--mesh", "4"),
    ("run", "model.onnx", "--out", "y=y.npy", "--device", "cpu", "--device", "cpu"),
    ("list", "--format", "json", "--format", "table"),
    ("ops", "--family", "binary", "--family", "unary"),
    ("kernels", "gather", "--device", "cpu", "--device", "cpu"),
    ("sbp", "relu", "--shape", "4x4", "--ranks", "2", "--ranks", "4"),
    ("sbp", "relu", "--shape", "4x4", "--ranks", "2", "--out", "B", "--out", "B"),
    ("cache", "warm", "--jobs", "1", "--jobs", "2"),
    ("bench", "--plot", "a.svg", "--plot", "b.svg"),
]


@pytest.mark.parametrize("words", ONE_VALUE, ids=" ".join)
def test_an_option_with_one_value_is_not_given_twice(ep, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = ep(*words)
    assert done.code == 2
    assert re.search(r"argument --[a-z/, -]*: is given twice; it takes one value\n", done.err)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("kernels", "gather", "--attribute", "axis=1", "--attribute", "axis=2"), "--attribute: axis is given twice"),
        (("kernels", "gather", *["--dtype", "params=int8"] * 3), "--dtype: params is given 3 times"),
        (
            ("kernels", "gather", "--dtype", "int8", "--dtype", "int32"),
            "--dtype: a value without a name is given twice",
        ),
        (("sbp", "relu", "--ranks", "2", "--shape", "4x4", "--shape", "x=4x8"), "--shape: x is given twice"),
        (("sbp", "relu", "--ranks", "2", "--shape", "4x4", "--x", "B", "--x", "S(0)"), "--x: x is given twice"),
        (
            ("sbp", "softmax", "--ranks", "2", "--shape", "4x4", "--attribute", "axis=1", "--attribute", "axis=0"),
            "--attribute: axis is given twice",
        ),
    ],
)
def test_a_name_is_not_given_twice(ep, words, why):
    done = ep(*words)
    assert (done.code, done.out) == (2, "")
    command = f"ep {words[0]}{f' {words[1]}' if words[0] == 'sbp' else ''}"
    assert done.err == f"{command}: error: {why}\nTry '{command} --help'.\n"
