"""Output on a terminal: no text is left out at any width, and no line is broken inside a word."""

import fcntl
import itertools
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

from ep.cli.main import COMMANDS
from ep.cli.text import column, definitions, duration, reflow
from tests.subprocesses import read_terminal

WIDTHS = (40, 60, 80, 120)
LONGEST_NAME = 36  # that of an operator; a longer word may be broken

# runs commands at each width, and records the cells of the tables that each of them prints
DRIVER = """
import contextlib, fcntl, json, os, struct, sys, termios
from ep.cli import bench, demo, doctor, output
from ep.bench.cases import bench_cases
bench._SECONDS = demo._SECONDS = 0.0
demo.demo_cases = lambda: bench_cases(2**12)[::19]
doctor.bench_cases, doctor.expression_cases = lambda count: bench_cases(count)[:1], lambda count: []
sys.executable = "/home/somebody/venvs/bin/python3"  # a name that does not fit beside a heading
tables, table = [], output.table
def noting(columns, rows, title="", right=()):
    rows = [list(row) for row in rows]
    tables.append([title, columns, rows])
    table(columns, rows, title, right)
output.table = noting
output.status = lambda what: contextlib.nullcontext()
from ep.cli.main import main
written = []
for columns in json.loads(sys.argv[3]):
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("4H", 50, columns, 0, 0))
    for command in json.loads(sys.argv[2]):
        assert main(command) == 0
        print("=" * 20, flush=True)
        written.append(tables[:])
        tables.clear()
with open(sys.argv[1], "w") as file:
    json.dump(written, file)
"""


def on_terminal(columns, *command, **environment):
    """Return the output of a process on a terminal with a number of columns, without colours."""
    printed = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", sent_to_terminal(columns, *command, **environment))
    return printed.replace(" " * columns + "\r", "").replace("\r", "")


def sent_to_terminal(columns, *command, **environment):
    """Return what a process sends to a terminal with a number of columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 50, columns, 0, 0))
    variables = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "LINES")}
    process = subprocess.Popen(
        command, env={**variables, "TERM": "xterm", **environment}, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    printed = read_terminal(ours)
    assert process.wait() == 0, printed
    return printed


TABLES = [
    ["list"],
    ["list", "--op", "relu", "--op", "reciprocal_no_nan_backward_with_dy_x"],
    ["show", "Gather"],
    ["show", "ElementwiseUnary"],
    ["show", "BroadcastElementwiseBinary"],
    ["ops"],
    ["ops", "gather"],
    ["kernels", "gather"],
    ["kernels", "where"],
    ["devices"],
    ["bench", "--size", "small", "--primitive", "BatchGather", "--primitive", "Expand"],
    ["demo"],
    ["doctor"],
]


def test_every_cell_is_there(tmp_path):
    """All commands run in one process, which loads its kernels once."""
    cells = tmp_path / "cells"
    arguments = [str(cells), json.dumps(TABLES), json.dumps(WIDTHS)]
    printed = on_terminal(WIDTHS[0], sys.executable, "-W", "error", "-c", DRIVER, *arguments)
    *of_each, end = printed.split("=" * 20)
    assert not end.strip()
    runs = itertools.product(WIDTHS, TABLES)
    for (columns, command), text, tables in zip(runs, of_each, json.loads(cells.read_text()), strict=True):
        lines = text.splitlines()
        assert too_long(lines, columns) == [], command
        words = set(text.split())
        assert tables, command
        for title, headings, rows in tables:
            wanted = [word for cell in (title, *headings, *itertools.chain(*rows)) for word in cell.split()]
            room = min(LONGEST_NAME, columns - max(map(len, headings)) - 2)  # next to its heading
            missing = {word for word in wanted if len(word) <= room} - words
            assert not missing, command
            for word in wanted:  # in a separate column, the last one, or on separate lines
                if len(word) > room:
                    assert word in pieces(lines, headings), command


def too_long(lines, columns):
    """Return the lines that the terminal would break, except for lines of one word, such as a name that is too long."""
    return [line for line in lines if len(line.rstrip()) > columns and len(line.split()) > 1]


def pieces(lines, headings):
    """Return the text of the first column, of the last, or of all columns, without line separators."""
    of_headings = [line for line in lines if line.split() == " ".join(headings).split()]
    start = of_headings[0].index(headings[-1]) if of_headings else None
    end = of_headings[0].index(headings[1]) if of_headings and len(headings) > 1 else None
    first = "".join(line[:end].strip() for line in lines)
    last = "".join(line[start:].strip() for line in lines) if of_headings else ""
    margin = max(map(len, headings)) + 2
    return "|".join([first, last, "".join(line[margin:].strip() for line in lines), "".join(map(str.strip, lines))])


@pytest.mark.ep_long
def test_help_is_broken_between_words():
    """The help has the same words as on a terminal that is wide enough for all of its lines."""
    widths = (400, *WIDTHS)
    code = f"""
import fcntl, struct, termios
from ep.cli.main import COMMANDS, main
for columns in {widths}:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("4H", 50, columns, 0, 0))
    for name in ["", *COMMANDS]: main(["help", *name.split()])
    for name in ("gather", "expand", "gelu", "add", "pad", "one_hot"): main(["run", name, "--help"])
    for command in ("cache warm --help", "show gather", "show softmax"): main(command.split())
    print("=" * 20, flush=True)
"""
    printed = on_terminal(widths[0], sys.executable, "-c", code)
    assert printed == on_terminal(widths[0], sys.executable, "-c", code, NO_COLOR="1")  # Python 3.14 colours help
    wide, *others = printed.split("=" * 20)[:-1]
    for columns, text in zip(WIDTHS, others, strict=True):
        assert too_long(text.splitlines(), columns) == []
        assert all(f"usage: ep {name}" in text for name in COMMANDS)
        assert set(wide.split()) - set(text.split()) == set()


def test_reflow():
    prose, items = "Prose that is long\nand goes on here.", "x: an item, which\n    goes on.\ny: another."
    text = f"{prose}\n\n{items}\n\n  ep example one\n  ep 2"
    assert reflow(text, 100) == text
    assert reflow(text, 16).splitlines() == [
        *("Prose that is", "long and goes on", "here.", ""),
        *("x: an item,", "    which goes", "    on.", "y: another.", ""),
        *("  ep example one", "  ep 2"),
    ]


def test_definitions():
    pairs = {"a": "one two three", "longer": "four", "e": ""}
    assert definitions(pairs) == "a       one two three\nlonger  four\ne"
    assert definitions(pairs, 14) == "a      one two\n       three\nlonger\n       four\ne"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0.00 us"),
        (4.123e-7, "0.412 us"),
        (1.234e-5, "12.3 us"),
        (9.996e-6, "10.0 us"),
        (9.996e-4, "1,000 us"),
        (0.00123456, "1.23 ms"),
        (2.5, "2.50 s"),
        (123.4, "123 s"),
    ],
)
def test_a_duration(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "unit", "words"),
    [
        ((), "us", []),
        ((6.45e-4, 6.73e-3), "ms", ["0.645", "6.73"]),
        ((3.1e-6, 4e-5, 0.0123456), "us", ["3.10", "40.0", "12,346"]),
        ((3.1e-6, 0.04, 0.08, 1.5), "ms", ["0.00310", "40.0", "80.0", "1,500"]),
        ((1.0, 9.9999e-4, 2.0), "s", ["1.00", "0.00100", "2.00"]),
    ],
)
def test_a_column_of_times_has_one_unit(seconds, unit, words):
    assert column(seconds) == (unit, words)


COLD = """
import sys
from ep.common import notice
notice._LATE = float("inf")
import numpy as np
import ep.ops
ep.ops.relu(np.ones(3, np.float32))
getattr(ep.ops, sys.argv[1])(np.ones(3, np.float32))
"""
QUIET = "import logging; logging.getLogger('ep').setLevel(logging.ERROR)\n"
SENTENCE = "ep: compiling kernels, which takes a second or more; later processes load them"


@pytest.mark.ep_long
def test_the_first_compilation_is_announced_once(kernels):
    """Its lines are as wide as the terminal, also in commands that compile."""

    def said(columns, op, code=COLD):
        return on_terminal(columns, sys.executable, "-c", code, op, EP_CACHE_DIR=str(kernels))

    assert said(80, "relu", QUIET + COLD) == ""
    for columns, new in ((40, "abs"), (80, "negative")):
        first = said(columns, new)
        assert too_long(first.splitlines(), columns) == []
        assert first.split() == SENTENCE.split()
    assert said(80, "abs") == ""


def test_what_is_no_terminal_gets_no_announcement(kernels):
    environment = {**os.environ, "EP_CACHE_DIR": str(kernels)}
    done = subprocess.run(
        [sys.executable, "-c", COLD, "abs"], env=environment, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
