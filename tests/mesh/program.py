"""What every rank of a job of tests runs: checks, one after the other, and a file of what became of each.

Where a check fails on one rank, all go on with the next one: a check raises on all ranks, or is wrong on all.
"""

import fcntl
import json
import sys
import traceback
from functools import partial
from pathlib import Path
from typing import Any

from ep.cpu.compile import compiler
from ep.mesh.world import world
from tests.mesh.checks import CHECKS


def compile_in_turn(path: str) -> None:
    """Let one rank at a time compile or load a kernel: the others sleep, and find what it has compiled.

    Else each of them would compile all kernels. path: of a file of the job.
    """
    addresses, lock, depth = compiler._addresses, open(path, "w"), 0  # noqa: SIM115  # as long as the process

    def in_turn(*arguments: Any) -> tuple[int, ...]:
        nonlocal depth
        if depth == 0:
            fcntl.flock(lock, fcntl.LOCK_EX)
        depth += 1
        try:
            return addresses(*arguments)
        finally:
            depth -= 1
            if depth == 0:
                fcntl.flock(lock, fcntl.LOCK_UN)

    compiler._addresses = in_turn


def main(asked: str, path: str) -> None:
    names = json.loads(Path(asked).read_text())
    compile_in_turn(f"{path}.compiling")
    found = {}
    for name in names:
        try:
            CHECKS[name]()
            mine = ""
        except Exception:
            mine = traceback.format_exc()
            print(f"rank {world().rank}: {mine}", file=sys.stderr)  # for it may leave the ranks out of step
        every = world().from_all(partial(str, mine), name)
        found[name] = "".join(f"rank {rank}: {one}" for rank, one in enumerate(every) if one)
    if world().rank == 0:
        Path(path).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
