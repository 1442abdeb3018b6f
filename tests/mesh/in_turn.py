"""Runs a program as a rank of a job whose kernels are compiled in turn.

python -m tests.mesh.in_turn FILE -m MODULE ARGUMENTS, or FILE -c CODE ARGUMENTS: FILE belongs to the job.
"""

import fcntl
import runpy
import sys
from typing import Any

from ep.cpu.compile import compiler


def compile_in_turn(path: str) -> None:
    """Let one rank at a time compile or load a kernel: the others sleep, and then find the compiled kernel.

    Otherwise each of them would compile all kernels. path: of a file of the job.
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


def main(path: str, kind: str, program: str, *arguments: str) -> None:
    compile_in_turn(path)
    if kind == "-m":
        sys.argv = [program, *arguments]
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        sys.argv = [kind, *arguments]
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    main(*sys.argv[1:])
