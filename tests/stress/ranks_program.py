"""The program of each rank of a trial of `ranks`: the same steps on all ranks; one rank fails in one of them.

`python -m tests.stress.ranks_program PLAN`, of which each rank writes the result of each step to `FOLDER/RANK.json`,
and the failing rank writes its error to `FOLDER/fired.json`.
"""

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np

import ep.ops
from ep.common.arrays.host import HostArrays
from ep.cpu.primitive.cpu_primitive import CpuPrimitive
from ep.mesh import Placement, from_whole, to_global, transport
from ep.mesh.world import world
from ep.ops.declare.operator import Operator

WHOLE = np.arange(60.0, dtype=np.float32).reshape(12, 5)


class OfTwo(Exception):
    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


def of_a_function():
    class Local(OSError):
        pass

    return Local("of a class without a name")


ERRORS = {
    "ValueError": lambda: ValueError("7 is odd"),
    "MemoryError": lambda: MemoryError("too much"),
    "of NumPy": lambda: np._core._exceptions._ArrayMemoryError((9, 8), np.dtype("f4")),
    "of five arguments": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "it is odd"),
    "of two arguments": lambda: OfTwo(1, 2),
    "of a function": of_a_function,
    "not pickled": lambda: TypeError(lambda: 0),
    "KeyError": lambda: KeyError('it\'s "x"'),
    "a group": lambda: ExceptionGroup("several", [ValueError("1")]),
    "FileNotFoundError": lambda: FileNotFoundError(2, "No such file", "x.npy"),
    "KeyboardInterrupt": lambda: KeyboardInterrupt("by hand"),
    "SystemExit": lambda: SystemExit("the end"),
}


def gather(placement):
    indices = np.array([11, 0, 3, 3, 7])
    rows = ep.ops.gather(from_whole(WHOLE, placement, "S(0)"), from_whole(indices, placement, "S(0)"))
    assert np.array_equal(rows.numpy(), WHOLE[indices])


def add(placement):
    x = from_whole(WHOLE, placement, "S(1)")
    assert np.array_equal(ep.ops.add(x, ep.ops.relu(x)).numpy(), 2 * WHOLE)


def change(placement):
    tensor = from_whole(WHOLE, placement, "P")
    for sbp in ("S(0)", "S(1)", "B"):
        tensor = tensor.to(sbp)
    assert np.array_equal(tensor.to_local(), WHOLE)


def mesh(placement):
    tensor = from_whole(WHOLE, Placement((1, placement.ranks)), "B,S(0)")
    assert np.array_equal(tensor.to("S(1),B").numpy(), WHOLE)


def read(placement):
    whole = world().on_all(lambda: np.load("x.npy", mmap_mode="r"), "the file")
    assert np.array_equal(from_whole(whole, placement, "S(0)").numpy(), WHOLE)


def pieces(placement):
    assert np.array_equal(to_global(WHOLE[:2], placement, "S(0)").numpy(), np.tile(WHOLE[:2], (placement.ranks, 1)))


STEPS = {function.__name__: function for function in (gather, add, change, mesh, read, pieces)}

INSIDE = {
    "an allocation": (HostArrays, "destination"),
    "a computation": (Operator, "compute"),
    "a load or a compilation": (CpuPrimitive, "_compiling"),
    "an exchange": (transport, "_message"),
    "a file": (np, "load"),
    "an operand": (HostArrays, "as_buffer"),
}
"""The functions that are made to fail, by the place at which a step calls them."""
OUTSIDE = ("between steps", "the end", "an interrupt")


def fire(error):
    """Record an error in the file, and raise it."""
    Path("fired.json").write_text(json.dumps([type(error).__name__, str(error)]))
    raise error


def arm(place, error):
    """Make the first call of the function at a place fail."""
    owner, name = INSIDE[place]
    original = getattr(owner, name)

    def failing(*arguments, **options):
        setattr(owner, name, original)
        fire(error)

    setattr(owner, name, failing)
    return lambda: setattr(owner, name, original)


def go_wrong(plan):
    """Fail outside of the functions of the package."""
    if plan["place"] == "the end":
        fire(SystemExit(plan["code"]))
    if plan["place"] == "an interrupt":
        Path("fired.json").write_text(json.dumps(["KeyboardInterrupt", ""]))
        signal.raise_signal(signal.SIGINT)
    fire(ERRORS[plan["error"]]())


def main(plan):
    os.chdir(plan["folder"])
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell makes its background jobs ignore SIGINT
    placement, became = Placement(world().size), []
    caught = (Exception, KeyboardInterrupt) if plan["catches"] else ()
    for number, name in enumerate(plan["steps"]):
        is_here = number == plan["step"] and placement.rank == plan["rank"]
        disarm = arm(plan["place"], ERRORS[plan["error"]]()) if is_here and plan["place"] in INSIDE else None
        try:
            if is_here and disarm is None:
                go_wrong(plan)
            STEPS[name](placement)
            became.append("")
        except caught as error:
            became.append(f"{type(error).__name__}: {error}")
        finally:
            if disarm is not None:
                disarm()
        Path(f"{placement.rank}.json").write_text(json.dumps(became))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
