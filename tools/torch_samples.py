"""Records what is in ep of PyTorch's own samples of its operators: `python -m tools.torch_samples`.

`python -m tools.torch_samples [NAMES] [--samples N] [--new] [--types TYPES] [--processes N]` computes the samples of
operators, all by default, with ep and with eager, prints each one that differs, and writes to
tests/data/torch_samples.json for each operator and type the marks of its samples in their order: a letter (see
tests/torch/samples.py), and how many follow one another; a question mark is a sample that was not computed. With
--samples, the first, the last and others at even distances are, N in all: 17 are those of 9, and 8 between them. With
--new, those of them without a mark are, of the operators in the record; others have nothing in ep. TOGETHER samples of
an operator and a type are computed in one graph, whose tracing takes most of the time, and which share kernels. Each of
a graph that differs from eager is computed alone. The record is written after each part of PART samples of an operator
and a type: a run that is interrupted loses one part.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sys
import traceback
import warnings
from collections.abc import Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

from ep.include.additions import note_addition

TOGETHER: Final = 32  # in one graph
PART: Final = 16 * TOGETHER  # of an operator and a type, until the record is written
FILE: Final = Path(__file__).parents[1] / "tests/data/torch_samples.json"


def packed(marks: Iterable[str]) -> str:
    """Return marks as text: "wwwp" as "w3p1"."""
    return "".join(f"{mark}{len([*run])}" for mark, run in itertools.groupby(marks))


def unpacked(text: str) -> str:
    """Return the marks of a text."""
    return "".join(mark * int(count) for mark, count in re.findall(r"(\D)(\d+)", text))


def read() -> dict[str, Any]:
    """Return the record: the version of PyTorch, the marks by operator and type, and the types with roundings."""
    found: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return found or {"torch": "", "operators": {}, "roundings": {}}


def write(record: dict[str, Any]) -> None:
    """Write the record, a line for each operator, in the place of the one that there is."""
    parts = [f'"torch": {json.dumps(record["torch"])}']
    for name in ("operators", "roundings"):
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(record[name].items()))
        parts.append(f'"{name}": {{\n{lines}\n}}')
    new = FILE.with_suffix(".new")
    new.write_text("{\n" + ",\n".join(parts) + "\n}\n")
    new.replace(FILE)


def computed(
    name: str, dtype: str, known: str, most: int | None, is_new: bool, begin: int
) -> tuple[str, bool, list[str], bool]:
    """Compute a part of an operator's samples of a type.

    known: the marks that are recorded. is_new: whether only samples without a mark are computed. begin: how many are in
    earlier parts.

    Returns the marks, whether there are roundings, the differences, and whether samples are left.
    """
    import torch

    import tests.torch.samples

    tried: Any = tests.torch.samples
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    note_addition(computed)  # so that no plan is kept on disk: there would be two of each sample
    every, graphs, has_roundings, differing = tried.samples(name, dtype), dict[str, Any](), False, list[str]()
    old = unpacked(known)
    marks = [*old] if len(old) == len(every) else ["?"] * len(every)
    chosen = tried.chosen(len(every), most or len(every))
    numbers = [k for k in chosen[begin : begin + PART] if not is_new or marks[k] == "?"]
    for k in numbers:
        marks[k] = "?"

    def is_right(k: int) -> bool:
        """Compute a sample alone; return whether it has a graph, and no roundings."""
        nonlocal has_roundings
        try:
            marks[k], is_rounded = tried.compare(name, every[k], graphs)
            has_roundings |= is_rounded
            return marks[k] != tried.NONE and not is_rounded
        except Exception as error:
            said = "" if isinstance(error, AssertionError) else traceback.format_exc(limit=-2)
            differing.append(f"{name} {dtype} sample {k}: {type(error).__name__}: {error} {said}")
            return False

    is_together = True
    for first in range(0, len(numbers), TOGETHER):
        some = numbers[first : first + TOGETHER]
        found = [("?", "none is in a graph")] * len(some)
        if is_together:
            found = tried.compare_together(name, [every[k] for k in some])
        alone = dict[int, str]()
        for k, (mark, why) in zip(some, found, strict=True):
            if why:
                alone[k] = why
            else:
                marks[k] = mark
        right = [k for k in alone if is_right(k)]
        if is_together and all(marks[k] != tried.NONE for k in alone):
            differing += [
                f"{name} {dtype} sample {k} in one graph: {alone[k]}" for k in right if alone[k] != tried.NO_GRAPH
            ]
        is_together = len(alone) < len(some)
    return packed(marks), has_roundings, differing, len(chosen) > begin + PART


def main() -> int:
    """Write the record; return the exit code."""
    import torch

    from tests.torch.samples import FORWARD, TYPES, WHOLE, operators

    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("names", nargs="*", help="operators; all by default, or with --new those in the record")
    parser.add_argument("--samples", type=int, help="the number of samples of an operator and a type; all by default")
    parser.add_argument("--new", action="store_true", help="only samples without a mark, of operators in the record")
    parser.add_argument("--types", default=",".join(TYPES), help="data types, separated by commas")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    record, num_differing = read(), 0
    record["torch"] = ".".join(torch.__version__.split(".")[:2])
    with ProcessPoolExecutor(given.processes, get_context("spawn")) as pool:
        tasks, done = dict[Future[Any], tuple[str, str, int]](), SimpleQueue[Future[Any]]()

        def submit(name: str, dtype: str, begin: int) -> None:
            known = record["operators"].get(name, {}).get(dtype, "")
            task = pool.submit(computed, name, dtype, known, given.samples, given.new, begin)
            tasks[task] = name, dtype, begin
            task.add_done_callback(done.put)

        for name in given.names or (record["operators"] if given.new else operators()):
            for dtype in given.types.split(","):
                if not given.new or "?" in record["operators"].get(name, {}).get(dtype, "?"):
                    submit(name, dtype, 0)
        while tasks:
            task = done.get()
            name, dtype, begin = tasks.pop(task)
            marks, has_roundings, differing, is_left = task.result()
            num_differing += len(differing)
            if differing or has_roundings or marks != record["operators"].get(name, {}).get(dtype, ""):
                print(f"{name} {dtype}: {marks}", *differing, sep="\n", flush=True)
                record["operators"].setdefault(name, {})[dtype] = marks
                if has_roundings:
                    record["roundings"][name] = sorted({*record["roundings"].get(name, []), dtype})
                write(record)
            if is_left:
                submit(name, dtype, begin + PART)
    for name, marks in [*record["operators"].items()]:
        if not any(mark in text for text in marks.values() for mark in (WHOLE, FORWARD)):
            del record["operators"][name]
    write(record)
    print(f"{num_differing} samples differ")
    return min(num_differing, 1)


if __name__ == "__main__":
    sys.exit(main())
